//! The agent alone as a guest's `/init`: smaller than the whole program, for trials with QEMU.

fn main() {
    patchmark_agent::init_main()
}
