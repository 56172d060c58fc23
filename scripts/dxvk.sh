# Shared by wine.sh (with DIRECT3D=dxvk) and dxvk-fetch, after `root` is set: where DXVK lies, and what Wine needs to use it.

dxvk=$root/build/dxvk
dxvk_files=$dxvk/files
dxvk_dlls="d3d9 d3d10core d3d11 dxgi"

# Without Vulkan's other drivers and layers, so that it is the same everywhere. The driver's software renderer is the one
# device that DXVK finds then. With VULKAN=system it is what the machine has. VULKAN_LAYER names the folder of
# cld3d_vulkan_layer.json for programs that are to have cld3d's Vulkan layer. As a layer that is named, which loaders know how to
# add since 1.3.207, it is none of those that are turned off.
dxvk_environment() {
    export WINEDLLOVERRIDES="$(echo $dxvk_dlls | tr ' ' ,)=n;$WINEDLLOVERRIDES"
    export VK_LOADER_LAYERS_DISABLE='~implicit~'
    if [ -n "${VULKAN_LAYER:-}" ]; then
        export VK_ADD_LAYER_PATH="$VULKAN_LAYER" VK_INSTANCE_LAYERS=VK_LAYER_CLD3D_share
    fi
    if [ "${VULKAN:-}" != system ]; then
        export VK_DRIVER_FILES="$dxvk_files/lib/lavapipe.json"
        export LD_LIBRARY_PATH="$dxvk_files/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
    if [ -e "$prefix/ends_with_shared" ]; then
        export CLD3D_TEST_SHARED_TEXTURES=no
    fi
    export DXVK_LOG_LEVEL="${DXVK_LOG_LEVEL:-none}" DXVK_LOG_PATH="${DXVK_LOG_PATH:-none}" DXVK_STATE_CACHE=disable
}

# DXVK 3 calls vkGetMemoryWin32HandleKHR for a texture that devices share without a look whether there is one, and Wine has it since
# 10.17: programs end, so tests make no such textures.
dxvk_ends_with_shared() {
    case $(wine --version) in
    wine-[89].* | wine-10.[0-9] | wine-10.[0-9][!0-9]* | wine-10.1[0-6]*) grep -q D3DKMTShareObjects "$dxvk_files/dll/d3d11.dll" ;;
    *) return 1 ;;
    esac
}

# Copies the libraries over those that the new prefix has in their place. Only userlands of scripts/check-world have DXVK for 32
# bits too.
dxvk_install() {
    for name in $dxvk_dlls; do
        cp "$dxvk_files/dll/$name.dll" "$prefix/drive_c/windows/system32/" || return
        [ ! -e "$dxvk_files/dll32/$name.dll" ] ||
            cp "$dxvk_files/dll32/$name.dll" "$prefix/drive_c/windows/syswow64/" || return
    done
    rm -f "$prefix/ends_with_shared"
    ! dxvk_ends_with_shared || : >"$prefix/ends_with_shared"
}
