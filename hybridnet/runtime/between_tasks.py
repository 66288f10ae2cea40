"""The parts of a graph that tasks of a cluster run, and the messages that carry its tensors."""

from .executor.device_plan import DevicePlan as DevicePlan
from .executor.device_plan import DeviceProgram as DeviceProgram
from .executor.device_run import GraphRun as GraphRun
from .executor.remote_rendezvous import StepExchange as StepExchange
from .executor.rendezvous import Key as Key
from .executor.rendezvous import LocalRendezvous as LocalRendezvous
from .executor.rendezvous import Received as Received
from .executor.rendezvous import Rendezvous as Rendezvous
from .executor.rendezvous import Sent as Sent
from .executor.rendezvous import Take as Take
from .executor.task_messages import Cancel as Cancel
from .executor.task_messages import Have as Have
from .executor.task_messages import Made as Made
from .executor.task_messages import Message as Message
from .executor.task_messages import TaskTransport as TaskTransport
from .executor.task_messages import Tensors as Tensors
from .executor.task_messages import TravellingTensor as TravellingTensor
