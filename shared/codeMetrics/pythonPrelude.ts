/**
 * The program that runs in the interpreter beside the code of metrics. Its value is a function `(key, code, record, scores)` that gives the answer
 * as JSON. The function loads code under a key, or has loaded code score a record or sum up values.
 */
export const pythonPrelude = `
import ast, builtins, collections, inspect, json, os, sys, types

os.environ.clear()
to_json, from_json = json.dumps, json.loads


class NoWayOut:
    """Keeps what leads to JavaScript from being imported."""

    names = {'js', 'pyodide_js', 'pyodide', '_pyodide', '_pyodide_core', 'ctypes', '_ctypes', 'micropip'}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split('.')[0] in cls.names:
            raise ModuleNotFoundError(f'No module named {name!r}')


sys.meta_path.insert(0, NoWayOut)
for name in list(sys.modules):
    if name.split('.')[0] in NoWayOut.names:
        del sys.modules[name]

KINDS = {
    'session': 'Session', 'trace': 'Trace', 'llm': 'LlmSpan', 'retriever': 'RetrieverSpan', 'tool': 'ToolSpan',
    'workflow': 'WorkflowSpan', 'agent': 'AgentSpan', 'control': 'ControlSpan',
}
MAX_TEXT = 10_000
MAX_METADATA = 8_192
MAX_LOADED = 100
MAX_AGGREGATES = 50
MAX_NAME = 100
MAX_AGGREGATE_TEXT = 1_000


class Step:
    """A record: a session, a trace or a span."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        known = ', '.join(sorted(key for key in self.__dict__ if not key.startswith('_')))
        raise AttributeError(f'a {self.type} has no {name!r}; it has {known}')


class Text(str):
    """The text of a message, which is its content as well."""

    role = None

    @property
    def content(self):
        return str(self)


class Fields:
    def __init__(self, fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return None


Span = type('Span', (Step,), {})
TYPES = {name: type(name, (Span if name.endswith('Span') else Step,), {}) for name in KINDS.values()}
TYPES |= {'Span': Span, 'Step': Step, 'Message': Text, 'Document': Fields, 'Metrics': Fields}
TYPES['MessageRole'] = types.SimpleNamespace(user='user', assistant='assistant', system='system', tool='tool')


def parsed(text):
    try:
        return from_json(text)
    except Exception:
        return None


def message_of(value, role):
    if isinstance(value, dict):
        content = value.get('content')
        message = Text(content if isinstance(content, str) else '' if content is None else to_json(content))
        message.role = value.get('role', role)
        message.tool_calls = value.get('tool_calls')
        return message
    message = Text(value if isinstance(value, str) else to_json(value))
    message.role = role
    return message


def messages_of(text):
    value = parsed(text or '')
    many = value if isinstance(value, list) and all(isinstance(one, dict) for one in value) else None
    if many is None:
        many = [value] if isinstance(value, dict) and 'content' in value else [text or '']
    return [message_of(one, 'user') for one in many]


def answer_of(text):
    value = parsed(text or '')
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        value = value[-1]
    return message_of(value if isinstance(value, dict) and 'content' in value else text or '', 'assistant')


def documents_of(text):
    value = parsed(text or '')
    if not isinstance(value, list):
        return text or ''
    return [Fields(one if isinstance(one, dict) else {'content': one}) for one in value]


def step_of(record):
    fields = dict(record)
    kind = fields['type']
    fields['metrics'] = Fields({**(record.get('required_scores') or {}), **fields['metrics']})
    fields['spans'] = [step_of(one) for one in fields.get('spans') or []]
    if kind == 'session':
        fields['traces'] = [step_of(one) for one in fields.get('traces') or []]
    if kind == 'llm':
        fields['input'] = messages_of(record['input'])
        fields['output'] = answer_of(record['output'])
    elif kind == 'retriever':
        fields['output'] = documents_of(record['output'])
    elif kind == 'trace':
        fields['input'] = record['input'] or ''
    return TYPES[KINDS.get(kind, 'Step')](fields)


class Refused(Exception):
    pass


def line_of(error):
    lines = [frame.lineno for frame in inspect.getinnerframes(error.__traceback__, 0) if frame.filename == 'scorer.py']
    return f' (line {lines[-1]})' if lines else ''


def error_text(error):
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SyntaxError) and error.filename == 'scorer.py':
        return f'SyntaxError: {error.msg} (line {error.lineno})'
    return f'{type(error).__name__}: {str(error)[:1000]}{line_of(error)}'


def give_types(tree):
    """A package that is not here and gives nothing but the types of records is one for annotations."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            continue
        if node.module.split('.')[0] in sys.stdlib_module_names or not all(one.name in TYPES for one in node.names):
            continue
        path = ''
        for part in node.module.split('.'):
            path = f'{path}.{part}' if path else part
            module = sys.modules.setdefault(path, types.ModuleType(path))
            module.__path__ = []
        module.__dict__.update(TYPES)


def has_function(module, name):
    value = module.get(name)
    if value is not None and not callable(value):
        raise Refused(f'{name} is no function')
    return value is not None


class Loaded:
    def __init__(self, code):
        tree = ast.parse(code, 'scorer.py')
        give_types(tree)
        module = {'__name__': 'scorer', '__builtins__': __builtins__}
        exec(compile(tree, 'scorer.py', 'exec'), module)
        if not has_function(module, 'scorer_fn'):
            raise Refused('the code defines no function scorer_fn')
        self.scorer_fn = module['scorer_fn']
        if inspect.iscoroutinefunction(self.scorer_fn):
            raise Refused('scorer_fn is a coroutine function; write it without async')
        parameters = inspect.signature(self.scorer_fn).parameters.values()
        self.takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
        self.takes = {one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
        self.score_type = self.type_of(module.get('score_type'))
        self.node_types = None
        if has_function(module, 'scoreable_node_types_fn'):
            kinds = module['scoreable_node_types_fn']()
            if not isinstance(kinds, (list, tuple)) or not all(isinstance(one, str) for one in kinds):
                raise Refused('scoreable_node_types_fn gives no list of names')
            self.node_types = list(kinds)
        self.aggregates = has_function(module, 'aggregator_fn')
        self.aggregator_fn = module.get('aggregator_fn')

    def type_of(self, given):
        if given is None:
            returned = inspect.signature(self.scorer_fn).return_annotation
            named = {'bool': bool, 'int': int, 'float': float, 'str': str}
            returned = named.get(returned, returned) if isinstance(returned, str) else returned
            return returned.__name__ if returned in (bool, int, float, str) else None
        given = given if isinstance(given, type) else given()
        if given not in (bool, int, float, str):
            raise Refused(f'score_type is {given!r}; it must be float, int, bool or str')
        return given.__name__

    def describe(self):
        return {'scoreType': self.score_type, 'nodeTypes': self.node_types, 'aggregates': self.aggregates}


def fitting(value, score_type):
    given = type(value)
    if score_type is None and given in (int, float):
        return float(value)
    if score_type in ('bool', None) and given is bool or score_type in ('str', None) and given is str:
        if given is str and len(value) > MAX_TEXT:
            raise Refused(f'scorer_fn gave a text of {len(value)} characters; at most {MAX_TEXT} are kept')
        return value
    if score_type == 'float' and given in (int, float, bool):
        return float(value)
    if score_type == 'int' and (given in (int, bool) or given is float and value.is_integer()):
        if abs(value) > 2**53:
            raise Refused(f'scorer_fn gave a number of {len(str(abs(int(value))))} digits, which is too large')
        return int(value)
    raise Refused(f'scorer_fn gave {repr(value)[:100]} of the type {given.__name__}; its score type is {score_type or 'bool, int, float or str'}')


def score(loaded, record):
    given = {
        'step_object': step_of(record),
        'index': None,
        'node_id': None,
        'node_name': record['name'],
        'node_type': record['type'],
        'node_input': record['input'] or '',
        'node_output': record['output'] or '',
        'tools': record.get('tools'),
        'dataset_variables': record['dataset_variables'],
        'required_scores': record.get('required_scores') or {},
    }
    given = given if loaded.takes_all else {name: value for name, value in given.items() if name in loaded.takes}
    value = loaded.scorer_fn(**given)
    metadata = None
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], dict):
            raise Refused('scorer_fn gave a tuple that is not a pair of a score and a dict of metadata')
        value, metadata = value
        try:
            if len(to_json(metadata, allow_nan=False)) > MAX_METADATA:
                metadata = None
        except (TypeError, ValueError):
            metadata = None
    if value is None:
        return {'none': True}
    value = fitting(value, loaded.score_type)
    if value != value or value in (float('inf'), float('-inf')):
        raise Refused(f'scorer_fn gave {value}, which is no number')
    return {'value': value, 'metadata': metadata}


def sum_up(loaded, scores):
    if not loaded.aggregates:
        raise Refused('the code defines no function aggregator_fn')
    given = loaded.aggregator_fn(scores=scores)
    if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
        raise Refused('aggregator_fn gave no dict of names and values')
    if len(given) > MAX_AGGREGATES:
        raise Refused(f'aggregator_fn gave {len(given)} values; at most {MAX_AGGREGATES} are kept')
    for name, value in given.items():
        if not (value is None or type(value) in (bool, int, float, str)):
            raise Refused(f'aggregator_fn gave {repr(value)[:100]} for {name[:100]!r}; values are numbers, booleans, texts or None')
        if type(value) is float and (value != value or value in (float('inf'), float('-inf'))):
            raise Refused(f'aggregator_fn gave {value} for {name[:100]!r}, which is no number')
        if type(value) is int and abs(value) > 2**53:
            raise Refused(f'aggregator_fn gave a number for {name[:100]!r} that is too large')
        if len(name) > MAX_NAME or type(value) is str and len(value) > MAX_AGGREGATE_TEXT:
            raise Refused(f'names have at most {MAX_NAME} characters, and texts {MAX_AGGREGATE_TEXT}')
    return {'values': given}


loaded = collections.OrderedDict()
own_builtins, recursion_limit = dict(vars(builtins)), sys.getrecursionlimit()


def mend_interpreter(names=vars(builtins), own=own_builtins, limit=recursion_limit, set_limit=sys.setrecursionlimit):
    """Takes back what code of another metric has changed of the names that all code has."""
    names.update(own)
    set_limit(limit)


def answer(key, code=None, record=None, scores=None):
    mend_interpreter()
    try:
        if code is not None:
            loaded[key] = Loaded(code)
            while len(loaded) > MAX_LOADED:
                loaded.popitem(last=False)
        if key not in loaded:
            return to_json({'unknown': True})
        if scores is not None:
            return to_json(sum_up(loaded[key], from_json(scores)))
        if record is None:
            return to_json(loaded[key].describe())
        return to_json(score(loaded[key], from_json(record)))
    except MemoryError:
        return to_json({'fault': 'memory'})
    except BaseException as error:
        return to_json({'error': error_text(error)})


answer
`;
