# Headers, exported targets and the package configuration; all of it independent of the architecture.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/allscan)

install(TARGETS allscan EXPORT allscan-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT allscan-targets NAMESPACE allscan:: DESTINATION ${package_dir})
if(ALLSCAN_HAS_MPI)
  install(TARGETS allscan_mpi EXPORT allscan-mpi-targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT allscan-mpi-targets NAMESPACE allscan:: DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/allscan-config.cmake.in allscan-config.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(allscan-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/allscan-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/allscan-config-version.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
