import type { RE2JS } from 're2js';
import { pieceByPiece } from '../../concurrency/pieces.ts';
import { editDistancePieces } from '../../identifiers/editDistance.ts';
import { foldCase } from '../../identifiers/foldCase.ts';
import { includesPieces } from '../../metrics/contains.ts';
import type { Score, ScoreContext, ScoredRecord } from '../../metrics/metric.ts';
import { NO_REFERENCE } from '../../metrics/reasons.ts';
import type { Check } from '../../wire/checks.ts';

type Of<T extends Check['type']> = Extract<Check, { type: T }>;
type Scoring = (record: ScoredRecord, context: ScoreContext) => Score | Promise<Score>;

/** Longer outputs are not looked at: a plain pattern goes through this in some 40 ms, a nested one in 200 ms, and nothing else is done meanwhile. */
const MAX_LENGTH = 100_000;
/** The work grows with the product of both lengths: this is about 0.2 s. */
const MAX_COMPARED = 30_000;
const MAX_PROBLEMS = 3;

const NO_OUTPUT = { notApplicable: 'the record has no output' };

/**
 * Compiles a regular expression that takes a time that grows with the text alone: users write them, and a clever one would stop the service. The library
 * takes memory, so it comes with the first pattern.
 * @throws what re2js throws for a pattern that is none
 */
async function compiled(pattern: string, ignoreCase = false): Promise<RE2JS> {
  const { RE2JS } = await import('re2js');
  return RE2JS.compile(pattern, RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
}

export async function regexCheck({ pattern, ignore_case }: Of<'regex'>): Promise<Scoring> {
  const expression = await compiled(pattern, ignore_case);
  return ({ output }) => {
    if (output === null) return NO_OUTPUT;
    if (output.length > MAX_LENGTH) return { notApplicable: `outputs over ${MAX_LENGTH} characters are not searched` };
    return expression.matcher(output).find() ? { value: true } : { value: false, explanation: 'no part of the output matches' };
  };
}

export const containsCheck =
  ({ type, texts, ignore_case }: Of<'contains_all' | 'contains_any'>): Scoring =>
  async ({ output }, { signal }) => {
    if (output === null) return NO_OUTPUT;
    const fold = (text: string) => (ignore_case ? foldCase(text) : text);
    const text = fold(output);
    const missing: string[] = [];
    for (const wanted of texts) {
      const isThere = await pieceByPiece(includesPieces(text, fold(wanted)), signal);
      if (isThere && type === 'contains_any') return { value: true };
      if (!isThere) missing.push(wanted);
    }
    if (missing.length === 0) return { value: true };
    return { value: false, explanation: `missing: ${missing.map((one) => JSON.stringify(one)).join(', ')}` };
  };

/** @throws what Ajv throws for a schema that is none */
export async function schemaCheck({ schema }: Of<'json_schema'>): Promise<Scoring> {
  const [{ Ajv }, { RE2JS }] = await Promise.all([import('ajv'), import('re2js')]);
  const regExp = Object.assign(
    (pattern: string) => {
      const expression = RE2JS.compile(pattern);
      return { test: (text: string) => expression.matcher(text).find() };
    },
    // Where generated code would find it; schemas are not written as code here.
    { code: 're2' },
  );
  const fits = new Ajv({ strict: false, validateFormats: false, code: { regExp } }).compile(schema);
  return ({ output }) => {
    if (output === null) return NO_OUTPUT;
    let value: unknown;
    try {
      value = JSON.parse(output);
    } catch (err) {
      return { value: false, explanation: (err as SyntaxError).message };
    }
    if (fits(value)) return { value: true };
    const problems = (fits.errors ?? []).slice(0, MAX_PROBLEMS).map((one) => `${one.instancePath || '/'} ${one.message}`);
    return { value: false, explanation: problems.join('; ') };
  };
}

export const editDistanceCheck =
  ({ max }: Of<'edit_distance'>): Scoring =>
  async ({ output, datasetOutput }, { signal }) => {
    if (datasetOutput === null) return { notApplicable: NO_REFERENCE };
    if (output === null) return NO_OUTPUT;
    if (Math.max(output.length, datasetOutput.length) > MAX_COMPARED)
      return { notApplicable: `texts over ${MAX_COMPARED} characters are not compared` };
    const distance = await pieceByPiece(editDistancePieces(output, datasetOutput), signal);
    return { value: distance <= max, explanation: `${distance} characters differ`, metadata: { distance } };
  };
