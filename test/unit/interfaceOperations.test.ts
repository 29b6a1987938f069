import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openapiDocument } from '../../api/http/openapi.ts';
import { everyEndpoint } from '../support/everyEndpoint.ts';

const LIST = join(import.meta.dirname, '../fixtures/interfaceOperations.txt');
const LINE = /^(?<operation>(?:GET|POST|PUT|PATCH|DELETE) \/\S+)(?: ★)?(?: left out: (?<reason>\S.*))?$/;

interface Listed {
  /** `METHOD /path`, without the prefix. */
  operation: string;
  /** Why it is not served; undefined for all that are. */
  reason: string | undefined;
}

const listed = readFileSync(LIST, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Listed => {
    const { operation, reason } = LINE.exec(line)?.groups ?? {};
    if (operation === undefined) throw new Error(`not an operation of the interface: "${line}"`);
    return { operation, reason };
  });

/** Takes the names from the parameters of a path: their places identify them, and the names are a matter of the document. */
const withoutNames = (operation: string): string => operation.replaceAll(/\{\w+\}/g, '{}');

const { paths } = openapiDocument(await everyEndpoint(), [], '3.1.0') as { paths: Record<string, Record<string, unknown>> };
const served = new Set(
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => withoutNames(`${method.toUpperCase()} ${path.replace(/^\/v2/, '')}`)),
  ),
);
const isServed = ({ operation }: Listed): boolean => served.has(withoutNames(operation));
const names = (operations: readonly Listed[]): string[] => operations.map(({ operation }) => operation);

test('each operation of the interface is listed once', () => {
  const all = listed.map(({ operation }) => withoutNames(operation));
  expect(all.filter((operation, index) => all.indexOf(operation) !== index)).toEqual([]);
});

test('every operation of the interface is in the OpenAPI document, but those that are left out for a reason', () => {
  expect(names(listed.filter((one) => one.reason === undefined && !isServed(one)))).toEqual([]);
});

test('what is said to be left out is not served', () => {
  expect(names(listed.filter((one) => one.reason !== undefined && isServed(one)))).toEqual([]);
});
