"""SIGINT at a moment of a call, and how much work the process still does then.

In processor time, which other processes of the machine do not prolong.  Linux only, whose clocks of other processes can
be read.
"""

import os
import signal
import subprocess
import sys
import time

_SENDER = """
import os, signal, sys, time
pid, at = int(sys.argv[1]), float(sys.argv[2])
clock = (~pid << 3) | 2  # the processor time of that process
while time.clock_gettime(clock) < at:
    time.sleep(0.002)
print(time.clock_gettime(clock), flush=True)
os.kill(pid, signal.SIGINT)
"""


def seconds_after_interrupt(call, after):
    """Processor seconds from SIGINT, sent when the call has used `after` of them, to KeyboardInterrupt.

    None if the call had ended before.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.process_time()
    sender = subprocess.Popen([sys.executable, "-c", _SENDER, str(os.getpid()), str(started + after)],
                              stdout=subprocess.PIPE, text=True)
    try:
        call()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return None
    except KeyboardInterrupt:
        ended = time.process_time()
        return ended - float(sender.stdout.readline())
    finally:
        sender.kill()
        sender.wait()
        sender.stdout.close()
        signal.signal(signal.SIGINT, before)
