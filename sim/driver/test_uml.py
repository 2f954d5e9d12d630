# SPDX-License-Identifier: BSD-2-Clause
"""The driver in the debug kernel, with a board without hardware: no complaint, no leak, names by
udev. Controls show that the kernel sees mistakes."""

import re
import shutil

import pytest

from litex_soc import regmap
from scripts.debian_package import obtain
from sim.cocotb_rig import SIM, run_folder
from sim.driver import echo_rig, fuzz_boots
from sim.driver.uml import boot, build_module, build_modules, control_module, read_log
from sim.guest import echo_module
from sim.guest.cable_programs import program
from sim.guest.driver_tree import DRIVER, driver_copy


def works(*jobs, **options):
    """echo_rig.echo_boot(): each job succeeds, and the kernel has no complaint. A uml.Boot."""
    run, count = echo_rig.echo_boot(*jobs, **options)
    assert run.status == [0] * count and not run.complaints, run.log
    return run


@pytest.fixture(scope="module")
def control():
    """control.ko, see control/control.c."""
    return control_module()


@pytest.mark.seconds(600)
def test_load_and_unload():
    module = build_modules(driver_copy())["litepulse"]
    # DEBUG_KOBJECT_RELEASE lets the driver's name go up to 4 s late, maybe later than the module's
    run = boot(["insmod litepulse.ko", "rmmod litepulse", "sleep 5"] * 5 + ["leaks"], {"litepulse.ko": module})
    assert run.status == [0] * 16 and not run.complaints, run.log


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_a_watchdog_that_fired(sleeps):
    """It stops what ran, and nothing else: ticks, numbers and the PTP clock go on, and no event is
    dropped."""
    works("run /use watchdog", parameters=f"sleeps={sleeps} keeps=1 fast_ppm=500")


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_a_reset_just_before_the_name_is_written(sleeps):
    """As when the frame that writes it has to be repeated, and the board was reset meanwhile: the
    driver still notices."""
    works("run /use renamed", parameters=f"sleeps={sleeps} keeps=1")


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_a_machine_that_stands_still_while_the_name_is_written(sleeps):
    """It is unknown whether the watchdog fired before the board got its old name back: its output
    counts as stopped, and is."""
    works("run /use late", parameters=f"sleeps={sleeps} keeps=1")


@pytest.mark.seconds(60)
@pytest.mark.parametrize("what", ["profiles", "filters", "loop", "rest"])
@pytest.mark.parametrize("sleeps", [0, 1])
def test_settings_of_output(what, sleeps):
    """No program changes settings of output that a claim kept, or of its responder, also after the
    driver has found it again."""
    works(f"run /use {what}", parameters=f"sleeps={sleeps} keeps=1")


NEWER = regmap.VERSION_MINOR + 1


@pytest.mark.quick
@pytest.mark.seconds(60)
def test_a_core_with_an_older_register_map():
    """All works; what its map lacks is refused as not supported."""
    works("run /use older", parameters="minor=6")


@pytest.mark.quick
@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_a_core_with_a_newer_register_map(sleeps):
    """It is read: events, status, time. Claims and the tty are refused, and the log says why."""
    run = works("run /use newer", parameters=f"minor={NEWER} sleeps={sleeps}")
    assert f"the core is version 0.{NEWER}, newer than this driver's 0.{regmap.VERSION_MINOR}: it sends nothing" in run.log


@pytest.mark.seconds(60)
def test_a_core_that_is_too_old(echo_board):
    """It is refused with a line that says which cores are not."""
    jobs = ["insmod litepulse.ko", "insmod echo_board.ko minor=5", "rmmod echo_board", "rmmod litepulse", "leaks"]
    run = boot(jobs, echo_board)
    assert run.status == [0] * len(jobs) and not run.complaints, run.log
    assert f"the core is version 0.5, this driver is for 0.6 to 0.{regmap.VERSION_MINOR}" in run.log


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_a_queue_without_sequences(sleeps):
    """Waits and relative entries are refused as not supported, on a core whose map could have them."""
    works("run /use no-sequence", parameters=f"sequences=0 sleeps={sleeps}")


TOO_LONG = "lead and lag of RS-485 are 65 us at most"  # of the echo board: 65535 ns


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_delays_of_rs485_that_are_too_long(sleeps, echo_board):
    """A delay that the core cannot count is not in force, and the log says how long it can be."""
    run = works("run /use refused", parameters=f"sleeps={sleeps}")
    assert f"tty ttyPULSE0: {TOO_LONG}" in run.log, run.log
    jobs = ["insmod litepulse.ko", f"insmod echo_board.ko sleeps={sleeps} rs485_ms=1", "rmmod echo_board", "rmmod litepulse", "leaks"]
    run = boot(jobs, echo_board)
    assert run.status == [0] * len(jobs) and not run.complaints, run.log
    assert f"litepulse litepulse: {TOO_LONG}" in run.log and "ticks per second" not in run.log, run.log


@pytest.mark.seconds(60)
def test_a_tick_from_before_a_reset():
    """A tick that was read just before a reset of the board does not hide later bytes, and is no
    time of the PTP clock."""
    works("run /use behind", parameters="sleeps=1")


@pytest.mark.seconds(60)
def test_no_ring_where_the_cache_has_aliases():
    """The program could see other contents than the driver. read() has all events."""
    folder = driver_copy("aliases", edit={"litepulse_reader.c": lambda text: text.replace("cpu_dcache_is_aliasing()", "true")})
    works("run /use no-ring", files={"litepulse.ko": build_modules(folder)["litepulse"]})


@pytest.mark.seconds(60)
def test_programs_that_wait_can_be_killed():
    """Programs that wait for a slow board."""
    works("run /use killed", parameters="sleeps=1")


@pytest.mark.seconds(60)
def test_no_line_word_is_overtaken():
    """A break that begins while an older line word is on its way to the board is not ended by that."""
    works("run /use overtake", parameters="sleeps=1")


@pytest.mark.seconds(60)
@pytest.mark.parametrize("keeps, kept, train", [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)])
@pytest.mark.parametrize("sleeps", [0, 1])
def test_shutdown(sleeps, keeps, kept, train, echo_board):
    """A machine that shuts down, or boots another kernel, stops what runs although its program
    lives, except what a board with power keeps.

    The line rests at 1 again, where the console and the next kernel want it.
    """
    jobs = ["insmod litepulse.ko", f"insmod echo_board.ko sleeps={sleeps} keeps={keeps}", f"run /use leave-{kept}"]
    run = boot(jobs, echo_board)
    assert run.status == [0] * 3 and not run.complaints, run.log
    assert re.findall(r"echo_board: train (\d) .* low (\d)", run.log) == [(str(train), str(train))], run.log


@pytest.fixture(name="echo_board", scope="module")
def echo_board_files():
    """See echo_rig.py."""
    return echo_rig.echo_board()


USES = "all unbind reset abi de widths lost clock wild doubt newcomer flood memory modem page ring runs keep nap perout follow"
OF_THE_QUEUE = "sequence sequence-nap"
AFTER_FAILURES = "resume retry again settings"
OF_THE_TTY = "breaks divisor latency flush refused xon"


@pytest.mark.seconds(600)
@pytest.mark.parametrize("sleeps", [0, 1])
@pytest.mark.parametrize("what", [*USES.split(), *AFTER_FAILURES.split(), *OF_THE_TTY.split(), *OF_THE_QUEUE.split()])
def test_echo_board(what, sleeps):
    """The whole driver on a transport that does not sleep, and on one that does: no complaint, nothing lost, no memory left behind."""
    works(f"run /use {what}", parameters=f"sleeps={sleeps}")


@pytest.fixture(scope="module")
def litepulse_echo():
    """The .ko of sim/guest/echo, which answers edges."""
    with echo_module.sources() as folder:
        return shutil.copy(build_module(folder), run_folder(echo_module.NAME))


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps, defer", [(0, 0), (1, 0), (1, 1)])
def test_answers_in_the_interrupt(litepulse_echo, sleeps, defer):
    """litepulse_output_answer() in an interrupt, and in a worker of a transport that sleeps, where it refuses: no complaint about locks.

    Another worker may then launch the answer. The module gets the line from a tty that was closed while the board could not be reached.
    When it has gone, the tty has its loopback again, and everything else can be used.
    """
    name = echo_module.NAME
    jobs = [
        "run /use closed-unreachable",
        "run /use set-loop",
        f"insmod {name}.ko lead=2000000000 defer={defer}",
        "run /use answer",
        f"rmmod {name}",
        "run /use loop-is-back",
        "run /use all",
    ]
    works(*jobs, parameters=f"sleeps={sleeps}", files={f"{name}.ko": litepulse_echo})


@pytest.mark.seconds(60)
@pytest.mark.parametrize("what", ["kind=3", "flags=1"])
def test_an_answer_is_a_launch_with_a_tick(litepulse_echo, what):
    """litepulse_output_answer() refuses waits and relative entries."""
    name = echo_module.NAME
    jobs = [f"insmod {name}.ko lead=2000000000 {what}", "run /use answer-refused", f"rmmod {name}"]
    works(*jobs, files={f"{name}.ko": litepulse_echo})


RESETS = 45  # probing takes a few accesses to the board more than this


@pytest.mark.seconds(600)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_reset_during_probe(echo_board, sleeps):
    """The board is reset at each of the accesses to it that probing makes: bound or not, no complaint, and it can be used afterwards."""
    tries = [
        job
        for at in range(1, RESETS)
        for job in (f"insmod echo_board.ko sleeps={sleeps} reset_at={at}", *(["sleep 2"] if at % 4 == 0 else []), "rmmod echo_board")
    ]
    jobs = ["insmod litepulse.ko", *tries, f"insmod echo_board.ko sleeps={sleeps}", "run /use all", "rmmod echo_board", "rmmod litepulse"]
    run = boot(jobs, echo_board)
    assert run.status == [0] * len(jobs) and not run.complaints, run.log


@pytest.mark.seconds(600)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_two_boards(sleeps):
    """Numbers of their own, used at the same time; claim, events, bytes, clock, reset and removal
    of one do not affect the other."""
    works("run /use both", parameters=f"boards=2 sleeps={sleeps}")


@pytest.mark.seconds(30)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_fuzz(sleeps):
    """Random calls of several processes, the board comes and goes: no complaint. `make fuzz` makes a hundred times as many."""
    calls, unplugs = fuzz_boots.without_hardware(1, sleeps, 20_000, timeout=300)
    assert calls >= 20_000 and unplugs > 8


def places(log):
    """{what: at how many places something failed} of cable/fail.c."""
    return {what: int(count) for what, count in re.findall(r"(?m)^([a-z-]+) (\d+)$", log)}


@pytest.mark.seconds(60)
def test_loading_with_failures():
    """Each allocation in turn fails while the module is loaded: it is loaded or not, and nothing is
    left behind."""
    files = {"litepulse.ko": echo_rig.echo_board()["litepulse.ko"], "fail": program("fail")}
    run = boot(["run /fail load /litepulse.ko", "insmod litepulse.ko", "rmmod litepulse", "leaks"], files)
    assert run.status == [0] * 4 and run.only_memory_was_missing(), run.log
    assert places(run.lines(0))["load"] > 20


@pytest.mark.seconds(60)
@pytest.mark.parametrize("sleeps", [0, 1])
def test_probing_and_using_with_failures(sleeps):
    """The same while the driver takes a board, and in each call; also each copy from and to the program. It works afterwards."""
    files = {"fail": program("fail")}
    run, jobs = echo_rig.echo_boot(
        "run /fail probe litepulse", "run /fail use litepulse", "run /use all", parameters=f"sleeps={sleeps}", files=files
    )
    assert run.status == [0] * jobs and run.only_memory_was_missing(), run.log
    found = places(run.lines(2) + run.lines(3))
    least = {"probe": 100, "open": 2, "open-tty": 2, "claim": 4, "subscribe": 2, "launch": 2, "train": 2, "settings": 3, "transmit": 2}
    assert all(found[what] >= count for what, count in least.items()), found


MODES = {"ptp": 640}  # others: 660


@pytest.mark.seconds(600)
def test_udev(echo_board):
    """Debian's udev gives the devices names, group and mode by our rule, leaves others alone, and takes the names back."""
    tree = obtain("udev").path
    groups = run_folder("etc") / "group"
    groups.write_text("root:x:0:\ntty:x:5:\ndialout:x:20:\n")
    files = {**echo_board, "etc/group": groups, "etc/udev/rules.d/70-litepulse.rules": DRIVER / "70-litepulse.rules"}
    names = [f"/dev/{name}{n}" for n in (0, 1) for name in ("litepulse", "ttyPULSE", "ptp")]
    settle, others = "run /usr/bin/udevadm settle", ["/dev/null"]
    ignored = "run /usr/bin/udevadm info --query=property --property=ID_MM_PORT_IGNORE"
    run = boot(
        [
            "run /usr/bin/udevadm verify --no-summary --resolve-names=never /etc/udev/rules.d/70-litepulse.rules",
            "run /usr/lib/systemd/systemd-udevd --daemon",
            "insmod litepulse.ko",
            "insmod echo_board.ko boards=2",
            settle,
            f"run /names {' '.join([*names, *others])}",
            *(f"{ignored} {name}" for name in [*names, *others]),
            "rmmod echo_board",
            settle,
            "run /names",
        ],
        files,
        tree=tree,
    )
    assert run.status == [0] * (9 + len(names) + len(others)) and not run.complaints, run.log
    place = "/dev/litepulse/by-path/platform-litepulse"
    assert re.findall(r"(?m)^/dev/\S+ .*", run.lines(5)) == [
        *(
            f"{place}{board}{what} = /dev/{name}{n} {MODES.get(name, 660)} 20"
            for n, board in enumerate(("", ".1"))
            for what, name in (("", "litepulse"), ("-ptp", "ptp"), ("-tty", "ttyPULSE"))
        ),
        *(f"{name} = {name} {MODES.get(name[5:-1], 660)} 20" for name in names),
        "/dev/null = /dev/null 666 0",
    ]
    # ModemManager leaves a port alone that has this property.
    properties = [re.findall(r"(?m)^ID_MM_PORT_IGNORE=.*", run.lines(6 + n)) for n in range(len(names) + len(others))]
    assert properties == [["ID_MM_PORT_IGNORE=1"] if name.startswith("/dev/ttyPULSE") else [] for name in [*names, *others]]
    assert not re.findall(r"(?m)^/dev/", run.lines(8 + len(names) + len(others)))


@pytest.fixture(scope="module")
def usb_plug():
    """usb_plug.ko, see usb_plug/usb_plug.c."""
    folder = run_folder("usb_plug")
    for path in (SIM / "driver" / "usb_plug").iterdir():
        shutil.copy(path, folder)
    return build_module(folder)


@pytest.fixture(scope="module")
def system():
    """Folder with Debian's udev and systemd, and {name in the guest: path} of what the driver's installation puts there."""
    tree = obtain("systemd").path
    etc = run_folder("etc")
    (etc / "group").write_text("root:x:0:\ntty:x:5:\ndialout:x:20:\n")
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    unit = (DRIVER / "litepulse-attach@.service").read_text().replace("@PROGRAM@", "/usr/bin/true")
    (etc / "unit").write_text(unit)
    files = {"etc/group": etc / "group", "etc/passwd": etc / "passwd", "etc/systemd/system/litepulse-attach@.service": etc / "unit"}
    return tree, files | {f"etc/udev/rules.d/{path.name}": path for path in DRIVER.glob("*.rules")}


UDEVD = "run /usr/lib/systemd/systemd-udevd --daemon"
SETTLE = "run /usr/bin/udevadm settle"


@pytest.mark.seconds(600)
def test_rules_and_unit_are_valid(system):
    """udev and systemd accept them without a message, and report a fault in a control."""
    tree, files = system
    wrong = run_folder("wrong")
    (wrong / "rules").write_text('SUBSYSTEM=="tty", ENV{LITEPULSE_BRIDGE}=="1", GOTO="nowhere"\n')
    (wrong / "unit").write_text("[Service]\nType=unheard-of\n")
    verify = "run /usr/bin/systemd-analyze verify --man=no --generators=no /etc/systemd/system/"
    check = "run /usr/bin/udevadm verify --no-summary --resolve-names=never /etc/udev/rules.d/"
    jobs = [
        check + "70-litepulse.rules",
        check + "71-litepulse-attach.rules",
        verify + "litepulse-attach@dev-ttyUSB1.service",
        check + "99-wrong.rules",
        verify + "wrong.service",
    ]
    files = files | {"etc/udev/rules.d/99-wrong.rules": wrong / "rules", "etc/systemd/system/wrong.service": wrong / "unit"}
    run = boot(jobs, files, tree=tree)
    assert run.status[:3] == [0] * 3 and all(run.status[3:]) and not run.complaints, run.log
    assert not any(run.lines(job).strip() for job in range(3)) and "unheard-of" in run.lines(4), run.log


def properties(text):
    """{name: value} of what udevadm info printed."""
    return dict(re.findall(r"(?m)^(\w+)=(.*)$", text))


@pytest.mark.seconds(600)
@pytest.mark.parametrize("product, ours", [("iCEBreaker_V1.0e", True), ("Dual_RS232-HS", False)])
def test_udev_of_a_plug(system, usb_plug, product, ours):
    """The second port of an iCEBreaker is attached and is not a modem; nothing is done for another
    plug with the same chip."""
    tree, files = system
    show = "run /usr/bin/udevadm info --query=property "
    jobs = [
        UDEVD,
        f"insmod usb_plug.ko product={product}",
        SETTLE,
        show + "/sys/bus/usb/devices/1-2",
        show + "--name=ttyUSB0",
        show + "--name=ttyUSB1",
        "rmmod usb_plug",
    ]
    run = boot(jobs, files | {"usb_plug.ko": usb_plug}, tree=tree)
    assert run.status == [0] * len(jobs) and not run.complaints, run.log
    plug, flash, bridge = (properties(run.lines(job)) for job in (3, 4, 5))
    assert plug["DEVTYPE"] == "usb_device" and (plug.get("ID_MM_DEVICE_IGNORE") == "1") == ours
    for port, interface in ((flash, "00"), (bridge, "01")):
        assert port["ID_USB_INTERFACE_NUM"] == interface and port["ID_SERIAL"] == f"1BitSquared_{product}_ib7A", run.log
        wanted = ours and interface == "01"
        assert port.get("SYSTEMD_WANTS") == ("litepulse-attach@dev-ttyUSB1.service" if wanted else None)
        assert port.get("ID_MM_PORT_IGNORE") == ("1" if wanted else None)


@pytest.mark.seconds(600)
def test_udev_of_a_board_on_a_cable(system, usb_plug, echo_board):
    """Its names have the place and adapter of its port; users of the tty may set the rate of the
    cable, and when bytes interrupt."""
    tree, files = system
    cable = "/sys/devices/platform/litepulse.0/uartbone/"
    tty = "/sys/class/tty/ttyPULSE0/"
    show = f"run /names {cable}port {cable}baud {cable}poll_us {cable}idle_us /dev/ttyPULSE0"
    show_tty = f"run /names {tty}rx_trig_bytes {tty}rx_trig_age_us {tty}rx_trig_idle_us {tty}interrupts_max"
    jobs = [
        UDEVD,
        "insmod usb_plug.ko",
        "insmod litepulse.ko",
        SETTLE,
        "insmod echo_board.ko port=ttyUSB1",
        SETTLE,
        show,
        show_tty,
        "rmmod echo_board",
        SETTLE,
        "run /names",
    ]
    run = boot(jobs, files | echo_board | {"usb_plug.ko": usb_plug}, tree=tree)
    assert run.status == [0] * len(jobs) and not run.complaints, run.log
    place, adapter = "platform-host-usb-0:2:1.1", "usb-1BitSquared_iCEBreaker_V1.0e_ib7A-if01"
    names = [
        f"/dev/litepulse/{kind} = /dev/{node} {MODES.get(node[:-1], 660)} 20"
        for name in (f"by-path/{place}", f"by-id/{adapter}")
        for kind, node in ((name, "litepulse0"), (f"{name}-ptp", "ptp0"), (f"{name}-tty", "ttyPULSE0"))
    ]
    files = [f"{cable}port = {cable}port 444 0", *(f"{cable}{name} = {cable}{name} 664 20" for name in ("baud", "poll_us", "idle_us"))]
    assert re.findall(r"(?m)^/\S+ = .*", run.lines(6)) == [*names, *files, "/dev/ttyPULSE0 = /dev/ttyPULSE0 660 20"], run.log
    # How many interrupts there may be is root's to say.
    modes = re.findall(r"(?m)^/sys/class/tty/ttyPULSE0/(\w+) = \S+ (\d+ \d+)$", run.lines(7))
    assert modes == [*((f"rx_trig_{name}", "664 20") for name in ("bytes", "age_us", "idle_us")), ("interrupts_max", "644 0")], run.log
    assert not re.findall(r"(?m)^/dev/", run.lines(10))


@pytest.mark.seconds(600)
def test_control_clean(control):
    """Without a mistake there is no complaint: so the tests below find the mistake."""
    run = boot(["insmod control.ko", "rmmod control", "leaks"], {"control.ko": control})
    assert run.status == [0, 0, 0] and not run.complaints, run.log


@pytest.mark.seconds(600)
@pytest.mark.parametrize(
    "fault, message",
    [
        ("overrun", "KASAN: slab-out-of-bounds"),
        ("use_after_free", "KASAN: slab-use-after-free"),
        ("sleep_in_atomic", "BUG: scheduling while atomic"),
        ("lock_inversion", "possible circular locking dependency"),
        ("still_locked", "still has locks held"),
        ("shift", "UBSAN: shift-out-of-bounds"),
        ("free_armed_timer", "ODEBUG: free active"),
        ("leak", "unreferenced object"),
        ("list_corruption", "list_del corruption"),
        ("warn", "WARNING: "),
    ],
)
def test_control(control, fault, message):
    run = boot([f"insmod control.ko fault={fault}", "rmmod control", "leaks"], {"control.ko": control})
    assert any(message in line for line in run.complaints), run.log


@pytest.mark.seconds(600)
def test_no_module():
    """What a job that cannot be done gives."""
    run = boot(["insmod none.ko", "rmmod none", "nonsense"], {})
    assert run.status == [2, 2, 254] and not run.complaints


@pytest.mark.parametrize(
    "console, complaint",
    [
        ("[    0.000000] Linux version 6\n[    0.1] Kernel panic - not syncing: VFS\n", "did not start"),
        ("[    0.1] rig: started\n[    0.2] rig: status 0 of insmod x.ko\n", "ended before"),
        ("[    0.1] rig: started\n[    0.2] BUG: KASAN: wild\n[    0.3] rig: status 0 of x\n[    0.4] rig: done\n", "BUG: KASAN"),
        ("[    0.1] INFO: lockdep is turned off.\n[    0.2] rig: started\n[    0.3] rig: done\n", "INFO: lockdep"),
    ],
)
def test_a_broken_run_is_a_complaint(console, complaint):
    assert any(complaint in line for line in read_log(console)[2])


@pytest.mark.seconds(60)
def test_a_guest_is_repeatable(echo_board, monkeypatch):
    """With one seed each run has the same log, with random numbers of the kernel in it; another
    seed gives another log. Then the run is cached."""
    jobs = [*echo_rig.with_board(["run /use wild"], "sleeps=1"), "leaks"]
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    monkeypatch.delenv("LITEPULSE_SEED", raising=False)
    runs = [boot(jobs, echo_board) for _ in range(2)]
    monkeypatch.setenv("LITEPULSE_SEED", "7")
    other = boot(jobs, echo_board)
    assert runs[0].log == runs[1].log != other.log and runs[0].status == other.status == [0] * len(jobs)
    monkeypatch.setenv("LITEPULSE_FRESH", "0")
    assert boot(jobs, echo_board) == other
