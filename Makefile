# Commands a person types. Each works from a clean clone on Debian 12.

TARGET := target/x86_64-unknown-linux-gnu/release
PREFIX ?= /usr/local

.PHONY: demo test build install setup

# Installs what is needed, builds, and compares two real kernels in virtual machines.
demo:
	@scripts/demo.sh

# Everything that is checked before a change lands.
test:
	@scripts/test.sh

setup:
	@scripts/setup.sh

build: setup
	cargo build --release --locked

install: build
	install -D -m 755 $(TARGET)/patchmark $(DESTDIR)$(PREFIX)/bin/patchmark
	$(TARGET)/patchmark docs man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	$(TARGET)/patchmark docs completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/patchmark
