# Shared by wine-run, wine-stop and wine-keeper, which set `root` to the checkout's folder: where things lie, and how
# the Wine session is found, started and ended.
#
# A session is one wineserver and one Xvfb, both children of one wine-keeper. All Windows programs of a checkout share
# it, so that a program starts in a moment.
#
#   $state/lock      held with flock while a session is looked for, started or ended; never while a program runs
#   $state/keeper    "PID START DISPLAY" of the session's keeper
#   $state/run.PID   one per running program: START of the process PID
#
# START is the process's start time, so that another process that got the same PID is not taken for it.

say() {
    echo "wine-run: $*" >&2
}

die() {
    say "$*"
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
keeper_file=$state/keeper
idle_seconds=60

# Debian's Wine after 10.0~repack-11 has its server in no folder of PATH. scripts/check looks there too.
command -v wineserver >/dev/null || PATH=$PATH:/usr/lib/$(uname -m)-linux-gnu/wine

# A userland of 32 bits has a Wine that runs nothing else. One of 64 bits runs both, in one prefix: with a second Wine of 32 bits, or in
# the new WoW64.
wine_arch=win$(getconf LONG_BIT)

# Sets `start`; fails for a process that does not exist or has ended.
process_start() {
    { read -r process_stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The name in parentheses may hold blanks; the fields after it are numbered from 3, and START is number 22.
    set -- ${process_stat##*) }
    [ "$1" != Z ] || return 1
    shift 19
    start=$1
}

# Starts the calling script again, with its arguments, without random addresses, unless it already has none. Debian's
# Wine has no preloader to keep free what Windows has at 0x7ffe0000, and since Linux 6.9 a program's heap is there by
# chance in one start of some thousands, which then fails. Where a container forbids it, that remains.
use_fixed_addresses() {
    fixed='???[4-7c-f]*'
    case $(cat /proc/self/personality 2>/dev/null) in
    $fixed) return ;;
    esac
    case $(setarch -R cat /proc/self/personality 2>/dev/null) in
    $fixed) exec setarch -R "$0" "$@" ;;
    esac
}

# Takes the lock, on file descriptor 9. What is started while it is held must be started with `9>&-`.
take_lock() {
    mkdir -p "$state"
    exec 9>"$state/lock"
    flock -w 300 9 || die "another wine-run has held $state/lock for 5 minutes; scripts/wine-stop --force ends it"
}

drop_lock() {
    exec 9>&-
}

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
    say "creating a Wine prefix in ${prefix#"$root/"} (once, about half a minute)"
    trap 'wineserver -k; exit 130' INT TERM HUP
    # Many programs run one after the other in this, so the bad luck that use_fixed_addresses tells of is likeliest
    # here.
    create_prefix || create_prefix || {
        wineserver -k
        tail -n 5 "$state/prefix.log" >&2
        die "Wine could not create its prefix; its output is in $state/prefix.log"
    }
    trap - INT TERM HUP
    : >"$prefix_ready"
}

# Sets `keeper` and `display` if a session is there. With the lock held.
find_session_locked() {
    { read -r keeper keeper_start display <"$keeper_file"; } 2>/dev/null || return 1
    process_start "$keeper" && [ "$start" = "$keeper_start" ]
}

# Whether a process is of this system: those of a folder made by scripts/check-world have a prefix of the same name, and a
# name space of their own.
is_here() {
    [ "$(readlink "$1/ns/pid")" = "$(readlink /proc/$$/ns/pid)" ]
}

# Ends what a wineserver left behind that was killed: processes of the prefix that wait for it for ever. Only when there
# is no session, with the lock held.
kill_orphans_locked() {
    for process in /proc/[0-9]*; do
        if grep -qzxF "WINEPREFIX=$prefix" "$process/environ" && [ "${process#/proc/}" != $$ ] && is_here "$process"; then
            kill -KILL "${process#/proc/}"
        fi
    done 2>/dev/null
}

# With the lock held. The keeper gets none of the caller's file descriptors: who waits for the end of a pipe must not
# wait for the session. A shell can't close those above 9.
start_session_locked() {
    wineserver -k 2>/dev/null
    kill_orphans_locked
    rm -f "$keeper_file"
    python3 -c 'import os, sys; os.closerange(3, 65536); os.setsid(); os.execv(sys.argv[1], sys.argv[1:])' \
        "$root/scripts/wine-keeper" </dev/null >"$state/keeper.log" 2>&1 &
    started=$!
    tries=0
    until find_session_locked; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ] || ! process_start $started; then
            tail -n 5 "$state/keeper.log" >&2
            die "the Wine session did not start; its output is in $state/keeper.log"
        fi
        sleep 0.05
    done
}

# Sets `running` to the number of programs that run, and forgets those that have ended. With the lock held.
count_programs_locked() {
    running=0
    for run in "$state"/run.*; do
        { read -r run_start <"$run"; } 2>/dev/null || run_start=
        if process_start "${run##*.}" && [ "$start" = "$run_start" ]; then
            running=$((running + 1))
        else
            rm -f "$run"
        fi
    done
}
