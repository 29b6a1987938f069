import { storableKey } from '../json/storable.ts';
import { type Attributes, type AttributeValue, textOf } from './attributes.ts';
import { resultEvents } from './database.ts';
import { unknownNames } from './ownNames.ts';
import { type OtelSpan, type Scope, type SpanEvent, type SpanLink, timeOfNs } from './span.ts';
import { namesPlace } from './target.ts';

type Entries = readonly [string, AttributeValue][];

/** Entries of a span's own, and characters of a name and of a value. */
const MAX_OWN = 200;
const MAX_KEY = 256;
const MAX_VALUE = 8_000;
/** Names in the list of those that no reader knows, and characters of it, but for the last name. */
const MAX_LISTED = 50;
const MAX_LIST = 1_000;
/** The most that a scope or a resource may have: entries, characters of a value, and of all together. Each of its spans has them. */
const MAX_SHARED = 50;
const MAX_SHARED_VALUE = 1_000;
const MAX_SHARED_CHARACTERS = 4_000;
/** The same of all spans of a request: 100,000 tiny spans of a talkative resource took 400 MB of text. Each has room for some names all the same. */
const SHARED_CHARACTERS_OF_REQUEST = 32_000_000;
const LEAST_SHARED_CHARACTERS = 300;

/** Characters that each span of a request has room for of its scope, and of its resource. @param spans how many the request has */
export const sharedRoom = (spans: number): number =>
  Math.max(
    LEAST_SHARED_CHARACTERS,
    Math.min(MAX_SHARED_CHARACTERS, Math.floor(SHARED_CHARACTERS_OF_REQUEST / Math.max(1, spans))),
  );

/** Gathers what no column holds, as text. A value that is too long is cut and ends with `…`. */
export class SpanMetadata {
  readonly #texts: Record<string, string> = {};
  #own = 0;
  #dropped = 0;

  /** The first of a name stays; another value of it counts as dropped. */
  add(name: string, value: AttributeValue): void {
    if (value === null) return;
    const key = keyOf(name);
    const said = this.#textOf(key);
    if (said === undefined && this.#own === MAX_OWN) {
      this.#dropped++; // of very many, the others are not made into texts
      return;
    }
    const text = cut(textOf(value).toWellFormed(), MAX_VALUE);
    if (said === undefined) {
      this.#texts[key] = text;
      this.#own++;
    } else if (said !== text) this.#dropped++;
  }

  #textOf(key: string): string | undefined {
    return Object.hasOwn(this.#texts, key) ? this.#texts[key] : undefined;
  }

  addAll(entries: Entries | undefined): void {
    if (entries) for (const [name, value] of entries) this.add(name, value);
  }

  drop(count: number): void {
    this.#dropped += count;
  }

  /**
   * Adds what no column holds of the span itself, and what it shares with others.
   * @param exception the event that the span's error is taken from
   * @param room as `sharedRoom` has it
   */
  addUnread(span: OtelSpan, exception: SpanEvent | undefined, room: number): void {
    if (span.side !== undefined) this.add('otel.kind', span.side);
    if (span.traceState !== '') this.add('otel.trace_state', span.traceState);
    const events = unreadEvents(span.events, exception);
    if (events.length > 0) this.add('otel.events', events);
    if (span.links.length > 0) this.add('otel.links', span.links.map(linkValue));
    this.#addAttributes(span.attributes);
    this.#addShared(ofScope(span.scope, room), () => undefined);
    this.#addShared(ofResource(span.resource, room), (name) => span.attributes.peek(name));
  }

  /** Those that no column holds, and a list of the names that no reader knows. */
  #addAttributes(attributes: Attributes): void {
    const unknown = attributes.fromNames(unknownNames);
    let list = '';
    let listed = 0;
    attributes.eachUnread((name, value) => {
      this.add(name, value);
      if (!unknown.has(name) || saysNothing(value)) return;
      if (++listed <= MAX_LISTED && list.length < MAX_LIST) list += `${list === '' ? '' : ', '}${keyOf(name)}`;
      else if (!list.endsWith('…')) list += ', …';
    });
    if (list !== '' && this.#own < MAX_OWN) this.add('otel.unread', list);
  }

  /** Adds shared texts. A name by which the span itself says something else gets a second entry. */
  #addShared({ texts, dropped }: SharedTexts, ownValue: (name: string) => AttributeValue | undefined): void {
    this.#dropped += dropped;
    for (const [name, text] of texts) {
      const own = ownValue(name);
      const said = this.#textOf(name) ?? (own === undefined || own === null ? undefined : textOf(own).toWellFormed());
      if (said === undefined) this.#texts[name] = text;
      else if (cut(said, MAX_SHARED_VALUE) !== text) this.#texts[`resource.${name}`] = text;
    }
  }

  texts(): Record<string, string> {
    if (this.#dropped > 0) this.#texts['otel.dropped_attributes'] = String(this.#dropped);
    return this.#texts;
  }
}

/** Nothing, and what libraries write in its place. */
const saysNothing = (value: AttributeValue): boolean =>
  value === null || (typeof value === 'string' && /^\s*(?:null|None|\{\s*\}|\[\s*\])?\s*$/.test(value));

const keyOf = (name: string): string => cut(storableKey(name), MAX_KEY);

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;

/** Link as `<trace id>:<span id>`, or a list of that, its attributes and its trace state. */
function linkValue({ traceId, spanId, traceState, attributes }: SpanLink): AttributeValue {
  const id = `${traceId}:${spanId}`;
  const said = attributes.entries();
  if (said.length === 0 && traceState === '') return id;
  return [id, Object.fromEntries(said), ...(traceState === '' ? [] : [traceState])];
}

interface SharedTexts {
  texts: readonly [string, string][];
  dropped: number;
}

/** Makes texts of what many spans of a request have in common, once. */
function onceFor<Origin extends object>(entriesOf: (origin: Origin) => Entries): (origin: Origin, room: number) => SharedTexts {
  const made = new WeakMap<Origin, SharedTexts>();
  return (origin, room) => {
    const texts = made.get(origin) ?? sharedTexts(entriesOf(origin), room);
    made.set(origin, texts);
    return texts;
  };
}

function sharedTexts(entries: Entries, ofAll: number): SharedTexts {
  const texts: [string, string][] = [];
  let dropped = 0;
  let room = ofAll;
  for (const [name, value] of entries) {
    if (value === null || value === '') continue;
    const key = keyOf(name);
    // A part of a text keeps the whole text in memory, as long as any span has it.
    const text = Buffer.from(cut(textOf(value).toWellFormed(), MAX_SHARED_VALUE)).toString();
    if (texts.length === MAX_SHARED || key.length + text.length > room) dropped++;
    else {
      texts.push([key, text]);
      room -= key.length + text.length;
    }
  }
  return { texts, dropped };
}

/** Matches attributes of the machine, the process and the SDK. Users do not look for spans by them, and they would be many columns. */
const ofMachine = /^(?:telemetry|process|host|os|container|k8s|cloud|aws|gcp|azure|faas|device|browser|webengine)\./;
/** Attributes that people look for spans by. They come first, so that there is room for them. */
const first = ['service.name', 'service.version', 'deployment.environment.name', 'deployment.environment'];

const ofResource = onceFor((resource: Attributes) =>
  resource
    .entries()
    .filter(([name]) => !ofMachine.test(name) && !namesPlace(name))
    .sort(([one], [other]) => Number(first.includes(other)) - Number(first.includes(one))),
);

const ofScope = onceFor(({ name, version, attributes }: Scope) => [
  ['otel.scope.name', name],
  ['otel.scope.version', version],
  ...attributes.entries().map(([attribute, value]): [string, AttributeValue] => [`otel.scope.attributes.${attribute}`, value]),
]);

/**
 * Name, time and attributes of the events that no column holds, or of what these leave.
 * @param counted the one that the span's error is taken from
 */
function unreadEvents(events: readonly SpanEvent[], counted: SpanEvent | undefined): AttributeValue[] {
  return events.flatMap((event): AttributeValue[] => {
    const { name, atNs, attributes } = event;
    const unread = attributes.rest();
    if (event === counted || (readEvents.has(name) && unread.length === 0)) return [];
    return [[name, timeOfNs(atNs) ?? null, Object.fromEntries(readEvents.has(name) ? unread : attributes.entries())]];
  });
}

/** Events whose contents are in columns. */
const readEvents: ReadonlySet<string> = new Set([
  'First Token Stream Event',
  'gen_ai.client.inference.operation.details',
  'gen_ai.system.message',
  'gen_ai.user.message',
  'gen_ai.assistant.message',
  'gen_ai.tool.message',
  'gen_ai.choice',
  'gen_ai.content.prompt',
  'gen_ai.content.completion',
  ...resultEvents,
]);
