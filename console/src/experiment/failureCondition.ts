import { wordText } from '../../../shared/filterText/printFilterText.ts';
import type { LiveProgress } from '../data/experiment.ts';

type Cause = LiveProgress['failures'][number];

/** Shorter pieces of a message would find other failures. */
const LEAST = 8;

/** The filter that finds the rows of a cause: by the whole message, or by its longest part without a number, where the rows differ in those. */
export function conditionOfCause({ message, status_code: status, is_same: isSame }: Cause): string {
  const ofStatus = `status_code = ${status ?? 500}`;
  if (message === null) return ofStatus;
  if (isSame && message.length < 500) return `error_message = ${wordText(message)}`;
  const parts = message.split(/[\da-fA-F-]*\d[\da-fA-F-]*/).map((part) => part.trim());
  const longest = parts.reduce((best, part) => (part.length > best.length ? part : best), '');
  return longest.length < LEAST ? ofStatus : `error_message contains ${wordText(longest)}`;
}
