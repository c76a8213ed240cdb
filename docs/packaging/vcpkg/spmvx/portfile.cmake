# An overlay port of the tree that it lies in. For a release, set SOURCE_PATH by vcpkg_from_github.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

set(options "")
foreach(name IN ITEMS cuda zlib zstd lzma npz metis)
    if(name IN_LIST FEATURES)
        list(APPEND options "-D${name}=enabled")
    else()
        list(APPEND options "-D${name}=disabled")
    endif()
endforeach()
if("tool" IN_LIST FEATURES)
    list(APPEND options -Djson=enabled)
    set(tool true)
else()
    list(APPEND options -Djson=disabled)
    set(tool false)
endif()

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${options}
    OPTIONS_RELEASE -Dtool=${tool}
    OPTIONS_DEBUG -Dtool=false
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()

# The package files find the prefix from where they lie, which is one folder less deep now.
vcpkg_cmake_config_fixup(PACKAGE_NAME spmvx CONFIG_PATH lib/cmake/spmvx NO_PREFIX_CORRECTION)
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/spmvx/spmvxConfig.cmake" "/../../.." "/../..")

if("tool" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES spmvx AUTO_CLEAN)
endif()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc"
)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
