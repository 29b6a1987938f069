import { checkValues } from '../json/jsonValues.ts';
import { parseJson } from '../json/parseJson.ts';
import { storable } from '../json/storable.ts';
import { isExact } from '../wire/exactNumber.ts';
import { textOf } from '../wire/textOf.ts';
import { isTree } from './messageForms.ts';
import { DEPTH_OF_LIST, DEPTH_OF_TREE, DEPTH_OF_VALUES, MAX_DEPTH } from './readExport.ts';

/**
 * Reads the JSON of an ExportTraceServiceRequest into what the definitions can write as protobuf: a value that is not what they want in its place
 * would refuse the whole request. It becomes what it plainly means, or its text, or is left out; a span that is no object stays one without an id,
 * which is rejected where spans are read. Fields that the reader does not use are left out. OTLP's JSON is that of protobuf, but for ids, which it writes in
 * hexadecimal where protobuf has base64.
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 * @throws where the text is no JSON of such a message; ServiceError `BodyTooLarge` where it holds too many values.
 */
export function readJson(text: string): object {
  checkValues(text);
  const body = storable(parseJson(text), text);
  if (!isTree(body)) throw new TypeError('not an object');
  const { resourceSpans } = body;
  if (!Array.isArray(resourceSpans ?? [])) throw new TypeError('no list of resourceSpans');
  return { resourceSpans: listOf(resourceSpans).map(resourceSpansOf) };
}

/** One value in place of a list is a list of it. */
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : isNothing(value) ? [] : [value]);

const isNothing = (value: unknown): value is null | undefined => value === null || value === undefined;

const fieldOf = (value: unknown, name: string): unknown => (isTree(value) ? value[name] : undefined);

const resourceSpansOf = (value: unknown): object => ({
  resource: { attributes: attributesOf(fieldOf(fieldOf(value, 'resource'), 'attributes'), DEPTH_OF_VALUES) },
  scopeSpans: listOf(isTree(value) ? value.scopeSpans : [value]).map(scopeSpansOf),
});

const scopeSpansOf = (value: unknown): object => ({
  scope: scopeOf(fieldOf(value, 'scope')),
  spans: listOf(isTree(value) ? value.spans : [value]).map(spanOf),
});

const scopeOf = (scope: unknown): object => ({
  name: textIn(fieldOf(scope, 'name')),
  version: textIn(fieldOf(scope, 'version')),
  attributes: attributesOf(fieldOf(scope, 'attributes'), DEPTH_OF_VALUES),
});

function spanOf(span: unknown): object {
  if (!isTree(span)) return {};
  return {
    traceId: idOf(span.traceId),
    spanId: idOf(span.spanId),
    parentSpanId: idOf(span.parentSpanId),
    flags: Number(plainOf(span.flags)),
    name: textIn(span.name),
    kind: kindOf(span.kind),
    traceState: textIn(span.traceState),
    startTimeUnixNano: timeOf(span.startTimeUnixNano),
    endTimeUnixNano: timeOf(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes, DEPTH_OF_VALUES),
    events: listOf(span.events).filter(isTree).map(eventOf),
    links: listOf(span.links).filter(isTree).map(linkOf),
    status: statusOf(span.status),
  };
}

const eventOf = ({ name, timeUnixNano, attributes }: Record<string, unknown>): object => ({
  name: textIn(name),
  timeUnixNano: timeOf(timeUnixNano),
  attributes: attributesOf(attributes, DEPTH_OF_VALUES + 1),
});

const linkOf = ({ traceId, spanId, traceState, attributes }: Record<string, unknown>): object => ({
  traceId: idOf(traceId),
  spanId: idOf(spanId),
  traceState: textIn(traceState),
  attributes: attributesOf(attributes, DEPTH_OF_VALUES + 1),
});

const textIn = (value: unknown): string => (isNothing(value) ? '' : textOf(value));

/** Structures turn into texts and numbers in ways of their own, and may throw. */
const plainOf = (value: unknown): string | number =>
  isExact(value) ? String(value) : typeof value === 'string' || typeof value === 'number' ? value : '';

/** An id that is no hexadecimal text has bytes that are no id: its span is rejected, not the request. */
function idOf(value: unknown): Uint8Array {
  const text = isNothing(value) ? '' : value;
  return typeof text === 'string' && /^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : NO_ID;
}
const NO_ID = new Uint8Array(1);

/** Nanoseconds since 1970, as digits; what is no number is unknown, and one that has no end is behind all times. */
function timeOf(value: unknown): string {
  const given = plainOf(value);
  if (typeof given === 'string' && /^\d{1,19}$/.test(given)) return given;
  const number = Number(given);
  if (!(number > 0)) return '0';
  return number < 2 ** 64 ? BigInt(Math.trunc(number)).toString() : LAST_TIME;
}
const LAST_TIME = (2n ** 64n - 1n).toString();

/** A kind by number or by name, also without what all names begin with; what is no kind is unspecified. */
function kindOf(value: unknown): number {
  const given = String(plainOf(value)).trim();
  const byName = kinds.indexOf(given.toUpperCase().replace(/^SPAN_KIND_/, ''));
  return byName >= 0 ? byName : /^[0-5]$/.test(given) ? Number(given) : 0;
}
const kinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];

/** A code by number or by name, also without the object around it. */
function statusOf(value: unknown): object {
  const status: Record<string, unknown> = isTree(value) ? value : { code: value };
  const code = String(plainOf(status.code));
  return {
    code: /^(2|(STATUS_CODE_)?ERROR)$/i.test(code) ? 2 : /^(1|(STATUS_CODE_)?OK)$/i.test(code) ? 1 : 0,
    message: textIn(status.message),
  };
}

/** Names with values: a list of them, or an object. */
function attributesOf(value: unknown, depth: number): object[] {
  if (isTree(value)) return Object.entries(value).map(([key, one]) => ({ key, value: anyValueOf(one, depth) }));
  if (!Array.isArray(value)) return [];
  return value.filter(isTree).map(({ key, value: one }) => ({ key: textIn(key), value: anyValueOf(one, depth) }));
}

/** The value of an attribute: as the protocol writes it, under the name of its type, or as JSON has it. */
function anyValueOf(value: unknown, depth: number): object {
  // Empty where the reader sees that it nests too deep: what writes protobuf would refuse the whole request.
  if (depth > MAX_DEPTH) return {};
  if (!isTree(value)) return plainValueOf(value, depth);
  let isOfProtocol = false;
  for (const type in value) {
    const read = types.get(type);
    if (!read) continue;
    if (!isNothing(value[type])) return read(value[type], depth) ?? anyValueOf(value[type], depth);
    isOfProtocol = true;
  }
  return isOfProtocol || Object.keys(value).length === 0 ? {} : treeOf(value, depth);
}

function plainValueOf(value: unknown, depth: number): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (isExact(value)) return isInt64(String(value)) ? { intValue: String(value) } : { stringValue: String(value) };
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
  return Array.isArray(value) ? listValueOf(value, depth) : {};
}

const listValueOf = (values: readonly unknown[], depth: number): object => ({
  arrayValue: { values: values.map((one) => anyValueOf(one, depth + DEPTH_OF_LIST)) },
});

const treeOf = (values: unknown, depth: number): object => ({
  kvlistValue: { values: attributesOf(values, depth + DEPTH_OF_TREE) },
});

/** How a value of a type is written; undefined where it is not of that type. */
const types: ReadonlyMap<string, (value: unknown, depth: number) => object | undefined> = new Map([
  ['stringValue', (value: unknown) => ({ stringValue: textOf(value) })],
  ['boolValue', (value: unknown) => (value === 'true' || value === 'false' ? { boolValue: value === 'true' } : undefined)],
  ['intValue', (value: unknown) => (isInt64(plainOf(value)) ? { intValue: plainOf(value) } : undefined)],
  ['doubleValue', (value: unknown) => (isNumber(value) ? { doubleValue: Number(value) } : undefined)],
  // The reader returns bytes as base64 text.
  ['bytesValue', (value: unknown) => ({ stringValue: textOf(value) })],
  ['arrayValue', (value: unknown, depth: number) => (isTree(value) ? listValueOf(listOf(value.values), depth) : undefined)],
  [
    'kvlistValue',
    (value: unknown, depth: number) => (typeof value === 'object' ? treeOf(fieldOf(value, 'values') ?? value, depth) : undefined),
  ],
]);

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' ||
  isExact(value) ||
  (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value)));

const isInt64 = (value: unknown): boolean =>
  typeof value === 'string' && /^-?\d{1,19}$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value);
