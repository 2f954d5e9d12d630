# SPDX-License-Identifier: BSD-2-Clause
"""Compiles a labscript script, and runs the shot as BLACS does, without Qt, and without a trace in the home directory:

    python labscript_rig.py FOLDER SCRIPT [compile]         prints one JSON object, {"error": ...} if labscript refuses the script

labscript's own lock of HDF5 files starts two servers that stay, so it is left out, as are Qt and the parts of BLACS that draw. The folder
takes the place of ~/labscript-suite. If it has a file stimulus.txt, that drives the inputs of the simulated board, whose pins then go to
pins.vcd.
"""

import functools
import json
import sys
import types
from importlib import import_module
from pathlib import Path

labscript_profile = import_module("labscript_profile")  # it and h5py are not in .venv


def stub(name, **attributes):
    """A module of this name with nothing else in it."""
    module = sys.modules[name] = types.ModuleType(name)
    vars(module).update(attributes)


class DeviceTab:
    """Of BLACS, without a window: notes what a tab asks for."""

    connection_table_properties = {"board": "sim"}

    def __init__(self):
        self.calls = []

    def create_worker(self, *arguments):
        self.calls.append(("create_worker", *arguments))

    def queue_work(self, *arguments):
        self.calls.append(("queue_work", *arguments))

    def statemachine_timeout_add(self, _milliseconds, function, *_):
        self.calls.append(("add", function.__name__))

    def statemachine_timeout_remove(self, function):
        self.calls.append(("remove", function.__name__))


def prepare(folder):
    """What stands in the place of what is left out."""
    labscript_profile.LABSCRIPT_SUITE_PROFILE = folder
    labscript_profile.default_labconfig_path = lambda: folder / "labconfig.ini"
    secret = folder / "secret"
    secret.write_text(import_module("zprocess.security").generate_shared_secret())
    sections = {"DEFAULT": "user_devices = user_devices, litepulse.labscript", "servers": "zlock = localhost"}
    sections["security"] = f"shared_secret = {secret}"
    (folder / "labconfig.ini").write_text("".join(f"[{name}]\n{line}\n" for name, line in sections.items()))
    stub("labscript_utils.h5_lock")
    stub("qtutils")
    stub("blacs")
    modes = {f"MODE_{name}": 1 << n for n, name in enumerate(("MANUAL", "TRANSITION_TO_BUFFERED", "TRANSITION_TO_MANUAL", "BUFFERED"))}
    stub("blacs.device_base_class", DeviceTab=DeviceTab, define_state=lambda *_: lambda function: function, **modes)
    stub("blacs.tab_base_classes", Worker=object)


def compiled(folder, script):
    """The path of the shot file."""
    import labscript

    shot = folder / "shot.h5"
    labscript.labscript_init(str(shot), new=True, overwrite=True, labscript_file=str(script))
    exec(compile(script.read_text(), script, "exec"), {})
    return shot


def tab():
    """What labscript's registry finds for the device, and what that asks BLACS for during a shot of two looks."""
    from labscript_devices import get_BLACS_tab, import_class_by_fullname

    found = get_BLACS_tab("LitePulse")()
    done = []
    found.initialise_workers()
    (_, _, worker, arguments) = found.calls.pop()
    assert list(found.start_run(None)) == [None]
    for answer in (False, True):
        look = found.wait_until_done(types.SimpleNamespace(put=done.append))
        next(look)
        try:
            look.send(answer)
        except StopIteration:
            pass
    return import_class_by_fullname(worker), arguments, [call[0] + " " + call[-1] for call in found.calls] + done


EVENTS = ("wait_completed", "wait_completed", "all_waits_finished", "wait_durations_analysed")


def run(worker, arguments, shot):
    """As the process of BLACS does for one shot. [[event, data], ...]: what it posted to other programs of labscript."""
    Event = import_module("labscript_utils.ls_zprocess").Event
    listening = {name: Event(name, role="wait") for name in EVENTS}
    stimulus = shot.with_name("stimulus.txt")
    if stimulus.exists():
        workers = sys.modules[worker.__module__]
        workers.open_named = functools.partial(workers.open_named, stimulus=stimulus, vcd=shot.with_name("pins.vcd"))
    one = worker()
    one.device_name = "lp"
    vars(one).update(arguments)
    one.init()
    assert one.program_manual({}) == {} and one.transition_to_buffered("lp", str(shot), {}, True) == {}
    one.start_run()
    while not one.check_if_done():
        pass
    assert one.transition_to_manual()
    posted = [[name, listening[name].wait(str(shot), timeout=60)] for name in EVENTS] if one._program.waits.each else []
    one.transition_to_buffered("lp", str(shot), {}, False)  # the next one is aborted
    one.start_run()
    assert one.abort_buffered() and not one._board.busy
    one.shutdown()
    return posted


def main(folder, script, only_compile=""):
    prepare(Path(folder))
    h5py = import_module("h5py")
    import labscript

    try:
        shot = compiled(Path(folder), Path(script))
    except labscript.LabscriptError as error:
        print(json.dumps({"error": str(error)}))
        return
    result = {}
    if not only_compile:
        worker, arguments, calls = tab()
        result |= {"posted": run(worker, arguments, shot), "calls": calls}
    with h5py.File(shot, "r") as file:
        table = file["devices/lp/PULSE_PROGRAM"]
        result |= {"rows": table[:].tolist(), "attributes": {key: int(value) for key, value in table.attrs.items()}}
        if "WAITS" in file["devices/lp"]:
            table = file["devices/lp/WAITS"]
            names = {key: str(value) for key, value in table.attrs.items()}
            result |= {"waits": [[label.decode(), *ticks] for label, *ticks in table[:].tolist()], "wait_attributes": names}
            result["monitor"] = {key: str(value) for key, value in file["waits"].attrs.items()}
            if not only_compile:
                result["waited"] = [[label.decode(), *values] for label, *values in file["data/waits"][:].tolist()]
        if not only_compile:
            left = file["data/litepulse/lp"]
            result |= {"left": left[:].tolist(), "start": {key: int(value) for key, value in left.attrs.items()}}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
