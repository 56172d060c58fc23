# Shared by wine-run and wine-stop, which set `root` to the checkout's folder: where things lie, and how the Wine session starts.
#
# A session is one wineserver and one Xvfb. All Windows programs of a checkout share it, so that a program starts in a moment. Both end
# when none has run for a minute.
#
#   $state/lock      held with flock while a session is looked for or started; never while a program runs
#   $state/session   held with flock by the session's processes, as long as they live
#   $state/display   the number of its display

die() {
    echo "wine-run: $*" >&2
    exit 1
}

# DIRECT3D chooses whose Direct3D programs get: Wine's own, or DXVK, with a prefix and a session of its own.
case ${DIRECT3D:-wine} in
wine)
    state=$root/build/wine
    prefix=$root/build/wine-prefix
    ;;
dxvk)
    . "$root/scripts/dxvk.sh"
    state=$dxvk/wine
    prefix=$dxvk/prefix
    ;;
*)
    die "DIRECT3D is '$DIRECT3D'; it can be wine or dxvk"
    ;;
esac
prefix_ready=$prefix/.cld3d-ready-2

# Debian's Wine after 10.0~repack-11 has its server in no folder of PATH.
command -v wineserver >/dev/null || PATH=$PATH:/usr/lib/$(uname -m)-linux-gnu/wine

# A userland of 32 bits has a Wine that runs nothing else. One of 64 bits runs both, in one prefix: with a second Wine of 32 bits, or in
# the new WoW64.
wine_arch=win$(getconf LONG_BIT)

# Everything that Wine, Mesa and PoCL would write in the user's home goes to build/, and nothing there has an effect.
# Temporary files go to /tmp, where all look that find no TMPDIR. With any TMPDIR Wine 10 of Debian 13 aborts at its start.
# Sound, menus, .NET and HTML are of no use here. What the user sets for WINEDLLOVERRIDES comes last, so it wins.
wine_environment() {
    export HOME="$root/build/home"
    unset TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
    export WINEPREFIX="$prefix" WINEARCH=$wine_arch WINEDEBUG="${WINEDEBUG:--all}"
    export WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe=d;opencl=n,b${WINEDLLOVERRIDES:+;$WINEDLLOVERRIDES}"
    export LIBGL_ALWAYS_SOFTWARE="${LIBGL_ALWAYS_SOFTWARE:-1}"
    export MESA_SHADER_CACHE_DIR="$root/build/cache/mesa"
    export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$root/build/cache/pocl}"
    mkdir -p "$HOME" "$MESA_SHADER_CACHE_DIR" "$POCL_CACHE_DIR"
    [ "${DIRECT3D:-wine}" != dxvk ] || dxvk_environment
}

# The bridge, as the builds make it: the folder that Wine wants, of links. BRIDGE=no runs a program without it.
bridge_environment() {
    [ "${BRIDGE:-yes}" != no ] || return 0
    bridge=$root/build/bridge
    host=x86_64-unix
    [ "$wine_arch" = win64 ] || host=i386-unix
    mkdir -p "$bridge/$host" "$bridge/x86_64-windows" "$bridge/i386-windows"
    link_once ../../linux/src/libcld3d.so "$bridge/$host"
    link_once ../../x64/src/libcld3d.dll "$bridge/x86_64-windows"
    for build in x32 x32-tests; do
        [ ! -e "$root/build/$build/src/libcld3d.dll" ] || link_once ../../$build/src/libcld3d.dll "$bridge/i386-windows"
    done
    export WINEDLLPATH="$bridge${WINEDLLPATH:+:$WINEDLLPATH}"
}

link_once() { # TARGET FOLDER
    [ "$(readlink "$2/${1##*/}")" = "$1" ] || ln -sfn "$1" "$2/${1##*/}"
}

# OPENCL chooses the driver.
opencl_environment() {
    vendors=/etc/OpenCL/vendors
    case ${OPENCL:-pocl} in
    pocl)
        export OCL_ICD_VENDORS="$vendors/pocl.icd"
        ;;
    rusticl)
        export OCL_ICD_VENDORS="$vendors/rusticl.icd" RUSTICL_ENABLE=llvmpipe
        ;;
    system)
        return
        ;;
    *)
        die "OPENCL is '$OPENCL'; it can be pocl, rusticl or system (all installed drivers)"
        ;;
    esac
    [ -e "$OCL_ICD_VENDORS" ] || die "the OpenCL driver '${OPENCL:-pocl}' is not installed: $OCL_ICD_VENDORS is missing"
}

create_prefix() {
    [ ! -d "$prefix" ] || wineserver -k 2>/dev/null
    rm -rf "$prefix"
    mkdir -p "$prefix"
    (
        unset DISPLAY WINEDLLPATH # of libraries found there Wine would put placeholders in the prefix
        export WINEDEBUG=fixme-all
        wine wineboot --init || exit
        # A program that crashes must end, not wait for somebody to close a window.
        wine reg add 'HKCU\Software\Wine\WineDbg' /v ShowCrashDialog /t REG_DWORD /d 0 /f || exit
        # DXVK 2.6 divides by the refresh rate, which Wine does not get from RandR where the display is Xvfb's.
        wine reg add 'HKCU\Software\Wine\X11 Driver' /v UseXRandR /d N /f || exit
        wineserver -w
        [ "${DIRECT3D:-wine}" != dxvk ] || dxvk_install
    ) </dev/null >"$state/prefix.log" 2>&1 9>&- &
    wait $!
}

# Makes the prefix unless it is complete. With the lock held.
make_prefix_locked() {
    [ ! -e "$prefix_ready" ] || return 0
    command -v wine >/dev/null || die "Wine is not installed; 'make build' installs it"
    [ "${DIRECT3D:-wine}" != dxvk ] || [ -d "$dxvk_files" ] || die "DXVK is missing; scripts/dxvk-fetch downloads it"
    echo "wine-run: creating a Wine prefix in ${prefix#"$root/"} (once, about half a minute)" >&2
    trap 'wineserver -k; exit 130' INT TERM HUP
    # Many programs run one after the other in this, so the bad luck that wine-run tells of is likeliest here.
    create_prefix || create_prefix || {
        wineserver -k
        tail -n 5 "$state/prefix.log" >&2
        die "Wine could not create its prefix; its output is in $state/prefix.log"
    }
    trap - INT TERM HUP
    : >"$prefix_ready"
}

# Starts a session unless there is one, and sets the variables for its display. With the lock held. What stays gets none of the caller's
# file descriptors, and a session of its own: who waits for the end of a pipe, or ends a group of processes, must not mean this.
find_session_locked() {
    exec 8>"$state/session"
    ! flock -n 8 || start_session_locked
    exec 8>&-
    read -r number <"$state/display"
    export DISPLAY=":$number" XAUTHORITY="$state/xauthority"
}

start_session_locked() {
    # Only those who can read the file with the cookie get at the display. Its one entry fits any display number.
    (
        umask 077
        {
            printf '\377\377\0\0\0\0\0\022MIT-MAGIC-COOKIE-1\0\020'
            head -c 16 /dev/urandom
        } >"$state/xauthority"
    )
    rm -f "$state/display"
    setsid sh -c '
        wineserver --persistent=60
        Xvfb -displayfd 3 -screen 0 1280x1024x24 -nolisten tcp -auth "$1/xauthority" 3>"$1/display" &
        wineserver --wait
        kill $!
    ' sh "$state" </dev/null >"$state/session.log" 2>&1 6>&- 9>&- &
    until { read -r number <"$state/display"; } 2>/dev/null; do
        kill -0 $! 2>/dev/null || die "the Wine session did not start; its output is in $state/session.log"
        sleep 0.05
    done
    # The first program starts Windows' services, which then hold that program's files open. So let it be one of no interest.
    DISPLAY=:$number XAUTHORITY=$state/xauthority setsid wine cmd.exe /c exit </dev/null >/dev/null 2>&1 6>&- 8>&- 9>&-
}
