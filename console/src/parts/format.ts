import { dollars, duration } from '../../../shared/figures/figureText.ts';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';

/** The zone in which times are read. */
export type Zone = 'local' | 'UTC';

/** Texts of values on the screen. What is unknown is a dash, never 0. */
export const UNKNOWN = '–';

const two = (number: number): string => String(number).padStart(2, '0');

/** `14:02:11` of today, else `2026-11-02 14:02:11`, in the zone that the person chose. */
export function timeText(time: string, zone: Zone, now = new Date()): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return UNKNOWN;
  const [day, clock] = zone === 'UTC' ? ofUtc(at) : ofLocal(at);
  const [today] = zone === 'UTC' ? ofUtc(now) : ofLocal(now);
  return day === today ? clock : `${day} ${clock}`;
}

/** With its zone, for a tooltip. */
export function fullTimeText(time: string, zone: Zone): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return UNKNOWN;
  return zone === 'UTC' ? `${ofUtc(at).join(' ')} UTC` : `${ofLocal(at).join(' ')} ${localZone()}`;
}

let zoneName: string | undefined;
/** The browser takes longer to name its zone than to show a row. */
export const localZone = (): string => (zoneName ??= new Intl.DateTimeFormat().resolvedOptions().timeZone);
const counts = new Intl.NumberFormat('en-US');
const compactCounts = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

const ofUtc = (at: Date): [string, string] => [at.toISOString().slice(0, 10), at.toISOString().slice(11, 19)];
const ofLocal = (at: Date): [string, string] => [
  `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
  `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`,
];

/** A moment as a field of a form has it, `2026-11-02T14:02:11` in this zone; empty for what is none. */
export function inputTime(time: string | undefined, zone: Zone): string {
  const at = new Date(time ?? '');
  if (Number.isNaN(at.getTime())) return '';
  return (zone === 'UTC' ? ofUtc(at) : ofLocal(at)).join('T');
}

/** The moment in UTC that a field of a form means; undefined for an empty one. */
export function timeOfInput(written: string, zone: Zone): string | undefined {
  const at = new Date(zone === 'UTC' && written !== '' ? `${written}Z` : written);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

export function durationText(nanoseconds: unknown): string {
  if (!isNumber(nanoseconds)) return UNKNOWN;
  const ms = Number(nanoseconds) / 1e6;
  if (ms < 1_000) return `${ms < 10 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1_000).toFixed(2)} s` : duration(ms);
}
export const costText = (usd: unknown): string => (isNumber(usd) ? dollars(Number(usd)) : UNKNOWN);
export const countText = (count: unknown): string => (isNumber(count) ? counts.format(count) : UNKNOWN);

/** `812 → 96`, or all of them where only their sum is known. */
export function tokensText({
  num_input_tokens: input,
  num_output_tokens: output,
  num_total_tokens: total,
}: Record<string, unknown>): string {
  return isNumber(input) || isNumber(output) ? `${countText(input)} → ${countText(output)}` : countText(total);
}

/** `312`, `1.2K`, `3.4M`: where there is room for a few characters. */
export const compactText = (count: number): string => compactCounts.format(count);

/** `412 B`, `3.1 kB`, `20 MB`, `1.2 GB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1e6) return `${Number((bytes / 1e3).toPrecision(2))} kB`;
  return bytes < 1e9 ? `${Number((bytes / 1e6).toPrecision(3))} MB` : `${Number((bytes / 1e9).toPrecision(3))} GB`;
}

/** A number to as many places as distinguish values at a glance. */
export const numberText = (value: number | bigint): string =>
  typeof value === 'bigint' || Number.isInteger(value) ? counts.format(value) : String(Number(value.toPrecision(4)));

const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

/** A value that may be anything on one line: text as it is, else its JSON. Of more than so many characters, the rest is an ellipsis. */
export function lineText(value: unknown, most = 300): string {
  if (value === null || value === undefined) return UNKNOWN;
  const text = typeof value === 'string' ? value : jsonWithBigInts(value);
  const line = text.slice(0, most).replaceAll(/\s+/g, ' ');
  return text.length > most ? `${line.replace(HALF_CHARACTER, '')}…` : line;
}
const HALF_CHARACTER = /[\ud800-\udbff]$/;
