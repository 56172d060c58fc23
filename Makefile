# Entry points of the project. Every target first installs the Debian packages that it needs and that are missing, and nothing else.

.PHONY: help build package demo demo-video bench bench-direct bench-scale bundle check check-quick check-dxvk check-world fuzz coverage soak clean
.NOTPARALLEL:

# For the scripts: the demos' picture and video, the OpenCL driver, a short benchmark, and DEPS=no to install no packages.
export IMAGE VIDEO OPENCL QUICK DEPS

# Programs that run for long.
LONG = LIVE=yes meson test --benchmark --no-rebuild --verbose --wrapper '$(CURDIR)/scripts/test-run'

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
	@echo "make bench-scale   measure how calls scale and for what they wait, natively: out/bench-scale.md; some minutes"
	@echo "                   (OPENCL=pocl or rusticl for a single driver)"
	@echo "make bundle        pack the tests and everything they need for a machine with a GPU: out/cld3d-gpu-check.tar.xz"
	@echo "make check         run the test suite (docs/testing.md); the last line shows how many passed and failed"
	@echo "make check-quick   run a subset of the tests in two to three minutes"
	@echo "make check-dxvk    run the tests that use Direct3D over DXVK instead of Wine's own Direct3D"
	@echo "make check-world   run the tests in another userland, in a chroot (WORLD=trixie: Debian 13; i386: 32 bits; sid: new WoW64; remote: PoCL's servers)"
	@echo "make fuzz          run random sequences of calls natively for SECONDS (60) and compare them with a model of the specification"
	@echo "                   (SEED=number to repeat a run, OPENCL=pocl or rusticl for a single driver)"
	@echo "make coverage      measure which branches of the core the native tests reach: build/linux-gcov/meson-logs/coveragereport"
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
	@scripts/build linux x64
	@scripts/demo

demo-video:
	@scripts/deps demo-video
	@scripts/build linux x64
	@scripts/demo-video

bench:
	@scripts/deps bench
	@scripts/build linux x64
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
	@scripts/dxvk-fetch
	@DIRECT3D=dxvk scripts/check --suite direct-pocl --suite rows-pocl --suite rows-rusticl --suite rusticl

check-world:
	@scripts/deps check-world
	@scripts/check-world $(WORLD)

fuzz:
	@scripts/deps check
	@scripts/build linux
	@$(LONG) -C build/linux --test-args='--seconds $(or $(SECONDS),60) --seed $(or $(SEED),$(shell date +%s))' fuzz $(OPENCL:%=--suite=%)

# Of the native tests with each driver and transport. A test that fails here fails in `make check`, too.
coverage:
	@scripts/deps coverage
	@scripts/build linux-gcov
	@find build/linux-gcov -name '*.gcda' -delete
	-@meson test -C build/linux-gcov --no-rebuild --wrapper '$(CURDIR)/scripts/test-run' --timeout-multiplier 4 \
	    --suite native --suite native-rusticl --suite native-stays --suite native-mapped --suite native-export
	@ninja -C build/linux-gcov coverage-html coverage-text && cat build/linux-gcov/meson-logs/coverage.txt

soak:
	@scripts/deps check
	@scripts/build linux x64
	@CLD3D_TEST_SOAK=$(or $(SECONDS),3600) $(LONG) -C build/x64 --suite=$(or $(OPENCL),pocl) soak

clean:
	@scripts/wine-stop
	@DIRECT3D=dxvk scripts/wine-stop
	@rm -rf build out 2>/dev/null || sudo rm -rf --one-file-system build out # userlands in build/worlds belong to root
