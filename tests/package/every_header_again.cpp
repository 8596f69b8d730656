#include <every_header.hpp>

const void* address_of_the_environment_table();

const void* address_of_the_environment_table() { return &allscan::environment::table; }
