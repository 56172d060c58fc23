# Entry points of the project. Every target first installs the Debian packages that it needs and that are missing, and nothing else.

.PHONY: help build package demo demo-video bench bench-direct bench-scale profile bundle check check-quick check-dxvk check-world fuzz fuzz-coverage coverage soak clean
.NOTPARALLEL:

# For the scripts: the demos' picture and video, the OpenCL driver, a short benchmark, the build for the fuzzer, and DEPS=no
# to install no packages.
export IMAGE VIDEO OPENCL QUICK BUILD DEPS

help:
	@echo "make build         compile everything for Windows and Linux into out/"
	@echo "make package       build everything and package it: out/cld3d_VERSION_amd64.deb, out/cld3d-VERSION.zip, SHA256SUMS and more"
	@echo "                   (CLD3D_URL=the address from which users will get them)"
	@echo "make demo          paint a picture with Direct3D 11 and OpenCL under Wine: out/demo.png"
	@echo "                   (IMAGE=any.png or any.jpg, OPENCL=pocl or rusticl)"
	@echo "make demo-video    denoise a video with Direct3D 9 and OpenCL: out/demo-video.mp4"
	@echo "                   (VIDEO=any video, OPENCL=pocl or rusticl)"
	@echo "make bench         compare with hand-written sharing: out/bench.md, out/bench.csv, out/bench.png; about ten minutes"
	@echo "make bench-direct  measure sharing in Direct3D's own memory over DXVK, as a table; a few minutes"
	@echo "                   (OPENCL=pocl or rusticl for a single driver, QUICK=yes for small sizes and few rounds)"
	@echo "make bench-scale   measure how calls scale and for what they wait, natively: out/bench-scale.md; at most four minutes"
	@echo "                   (OPENCL=pocl or rusticl for a single driver)"
	@echo "make profile       show where the time of a frame goes, by thread and by component (SURFACE, PATTERN)"
	@echo "make bundle        pack the tests and everything they need for a machine with a GPU: out/cld3d-gpu-check.tar.xz"
	@echo "make check         run the test suite (docs/testing.md); the last line shows how many passed and failed"
	@echo "make check-quick   run a subset of the tests in two to three minutes"
	@echo "make check-dxvk    run the tests that use Direct3D over DXVK instead of Wine's own Direct3D"
	@echo "make check-world   run the tests in another userland, in a chroot (WORLD=trixie: Debian 13; i386: 32 bits; sid: new WoW64; remote: PoCL's servers)"
	@echo "make fuzz          run random sequences of calls natively for SECONDS (60) and compare them with a model of the specification"
	@echo "                   (SEED=number to repeat a run, OPENCL=pocl or rusticl for a single driver)"
	@echo "make fuzz-coverage  the same with libFuzzer, which looks for branches that no sequence has reached (SECONDS)"
	@echo "make coverage      measure which branches of the core the native tests reach: out/coverage.html"
	@echo "                   (OPENCL=pocl or rusticl, BUILD=linux-asan)"
	@echo "make soak          share frames in eight threads for SECONDS (3600) and look for wrong frames and leaks"
	@echo "                   (OPENCL=pocl or rusticl)"
	@echo "make clean         remove everything that was built"
	@echo
	@echo "Each target installs the Debian packages that it needs and that are missing (not with DEPS=no)."

build:
	@scripts/deps build
	@scripts/build

package:
	@scripts/deps package
	@scripts/package

demo:
	@scripts/deps demo
	@scripts/build x64
	@scripts/demo

demo-video:
	@scripts/deps demo-video
	@scripts/build x64
	@scripts/demo-video

bench:
	@scripts/deps bench
	@scripts/build x64
	@scripts/bench

bench-direct:
	@scripts/deps bench-direct
	@scripts/dxvk-fetch
	@scripts/build x64 linux
	@scripts/bench-direct

bench-scale:
	@scripts/deps bench-scale
	@scripts/build linux
	@scripts/bench-scale

SURFACE ?= NV12 1080p
PATTERN ?= both
profile:
	@scripts/deps profile
	@scripts/build x64
	@scripts/profile "$(SURFACE)" "$(PATTERN)"

bundle:
	@scripts/deps bundle
	@scripts/dxvk-fetch
	@scripts/build x64 linux
	@scripts/bundle

check:
	@scripts/deps check
	@scripts/check

check-quick:
	@scripts/deps check
	@scripts/check --quick

check-dxvk:
	@scripts/deps check
	@scripts/check-dxvk

check-world:
	@scripts/deps check-world
	@scripts/check-world $(WORLD)

fuzz:
	@scripts/deps check
	@scripts/build linux
	@scripts/fuzz "$(or $(SECONDS),60)" $(SEED)

fuzz-coverage:
	@scripts/deps fuzz-coverage
	@scripts/build fuzzer
	@scripts/fuzz-coverage "$(or $(SECONDS),60)"

coverage:
	@scripts/deps coverage
	@scripts/coverage "$(or $(SECONDS),60)"

soak:
	@scripts/deps check
	@scripts/soak "$(or $(SECONDS),3600)"

clean:
	@scripts/wine-stop --force
	@DIRECT3D=dxvk scripts/wine-stop --force
	@[ ! -d build/worlds ] || scripts/check-world --remove all
	@rm -rf build out
