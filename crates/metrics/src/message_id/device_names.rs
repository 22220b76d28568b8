//! Names that the kernel numbers: `sda`'s like `nbd15` or `eth0`, queues and threads like
//! `kswapd0`. The number says which of them, not what happened.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Stems of the names that drivers and subsystems make with a number behind.
const STEMS: &str = "\
    acpi_video adapter alias_guid amdgpu_bl amso aoe_ktio aoe_tx apbt appledisplay arc arena arg \
    asb ata atm atybl ax bank bcache bce bcp bcsf bcsh bfad_wq_ bfintmr bgx bit blkext bnep bond \
    boot bpq bt btt bttv ca callfunc callfuncsingle can card cciss ccn_ ccp_q cdev cesa cesaz cfs \
    cfspi ch chan chaoskey clk clk_uart_baud clkout cluster cmm cmx context cooling_device core \
    cosa cp cpu csrow ctlr_ ctlr_dl_wq_ ctlr_wq_ dasd dbg dca dcssblk ddbridge debug declance \
    default dev devcd devicedetail devpath dgm di dimm display dlci dma dmachan dmamux dmar domain \
    dpti dr drbd dsp dtest dummy dvmrp dw_spi ecard ehca entry ep err es eth ethernet eval event fb \
    fc fc_dl_ fc_host fc_wq_ fcf_ fcoe fd fddi fealnx firewire fn fpga fr frm function fv fw \
    g_printer gp gpio gpiochip gprs graph gsm hba hci hd hdlc hdm_fifo_ hiddev hifn hip hnae host \
    hpet hsi hso hvc_iucv hwsim ib ib_mad icnt ida idmouse ifb iio_simple_dummy_consumer img \
    inat_avx_table_ inat_escape_table_ index io io_ring_q ioc ioce iommu iowarrior ipath ipath_diag \
    ipddp ipmi ippp ipr_reset_ iqc ircomm irda irlan irlpt irqtrig irqwork iscsi_host iscsi_q_ issm \
    iucv ivhd js jsfd kcmtpd_ctr_ kipmi kpktgend_ kswapd kswitcher_ label lapb lcd ldusb lec \
    legousbtower line link lirc lloop lm loop lp lpfc_worker_ lt lte lun manager map mc mcbsp mclk \
    mct_tick md md_d mdev mdp media mei memcpy meth mgmt mic midi mix mixer mlan mmc mon mouse mpp \
    mpt_dead_ioc_ mpt_poll_ mptfc_wq_ msblk msh msic_ msm_serial mspblk msr mtd mthca mtipq mxb nas \
    nbd nbs nd_blk ndbus ndctl nes nfc nfhd nfsv nmem node npi nr nullb nvidiabl nvme ocrdma \
    ofld_dev orion_gpio osd osn osst overlay parport pci pel pgdatinit phonet pid_ pio plip \
    pmcraid_cmd_pool_ pmcraid_control_pool_ pmem pmu pnp pool port pow ppp pps pruss_evt psc pt ptp \
    pvc pvceth pwm pwmchip qcqhc qcqhe qcqherr qfmt qib qib_cq qiec qihq qp qsfp qsfp_dump \
    radeon_bl radeonbl raid ram ramdisk rank rapidio raw rd region remoteproc requester resched \
    resource rfcomm rfm rivabl rose rpmsg rsxx rtap rtc rtsx_usb_ms_ rx rxq rxtx sas_host sbni scm \
    scsi scsi_eh_ scsi_tmf_ scsi_wq_ sd sdma sg simdisk sisusbvga sit skbn skel sl slave slcan \
    slram smi soc soc_dts sp spi spi_busclk spinlock sprd_serial sr ssi ssid st state stex_wq_ \
    stream sudmac sym sysfstrig tap target tcm_loop_adapter_ teql thermal_zone thread timer \
    timerclken tpm trace tun twsi tx txq uap uart ubd ubd_ ubd_fake ubi ubiblock ucm uio umad \
    unknown upnlink usb usbf usbmon usbpn usbtmc user_sw usnic_ uverbs uwb vei video virtblk \
    visorbus vlynq vm vmbus_ vport watchdog wds wifi wilc_eth wl wlan wm wmx wpan wwan xaui xd xpad \
    xsysace yam yurex zoran zram \
";

static STEM_SET: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STEMS.split_ascii_whitespace().collect());

/// `block nbd15: eth0` -> `block nbd#: eth#`
pub(super) fn without_numbers(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.bytes().take_while(|byte| is_word(*byte)).count();
        if word == 0 {
            let next = rest.find(|c: char| u8::try_from(c).is_ok_and(is_word));
            let (between, after) = rest.split_at(next.unwrap_or(rest.len()));
            clean.push_str(between);
            rest = after;
            continue;
        }
        let (word, after) = rest.split_at(word);
        let stem = word.bytes().take_while(|byte| !byte.is_ascii_digit()).count();
        let digits = word[stem..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && STEM_SET.contains(&word[..stem]) {
            clean.push_str(&word[..stem]);
            clean.push('#');
            clean.push_str(&word[stem + digits..]);
        } else {
            clean.push_str(word);
        }
        rest = after;
    }
    clean
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_of_devices_are_taken_out() {
        assert_eq!(
            without_numbers("sr0: é e1000 eth0 veth0 kswapd12"),
            "sr#: é e1000 eth# veth0 kswapd#"
        );
    }
}
