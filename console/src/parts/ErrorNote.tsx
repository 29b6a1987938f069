import { Link } from '@tanstack/react-router';
import { ConnectionError, HttpStatusError } from '../../../client/errors.ts';
import { SignedOut } from '../session/session.ts';
import { type Problem, problemsOf } from './fieldProblems.ts';
import styles from './notes.module.css';

/** Says what failed, in the words of the service, and what one can do about it. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const isNotThere = isMissing(error);
  return (
    <div role="alert" className={isNotThere ? styles.missing : styles.error}>
      {isNotThere && <h1>Not found</h1>}
      <p>{sentenceOf(error)}</p>
      {error instanceof HttpStatusError && error.requestId !== undefined && (
        <p className="quiet">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {isNotThere && (
        <p>
          <Link to="/">All projects</Link>
        </p>
      )}
      {onRetry && !isNotThere && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The error in words for the person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ConnectionError) return 'The service does not answer. Is it running, and is this machine connected?';
  if (error instanceof HttpStatusError) {
    if (isMissing(error)) return 'There is nothing here: it was deleted, or your account does not see it.';
    if (error.status === 403) return `Your account may not do this: ${detailOf(error)}`;
    return detailOf(error);
  }
  if (error instanceof SignedOut) return 'You are signed out.';
  return error instanceof Error ? error.message : String(error);
}

/** Nothing has the id that was asked for, also where the text in its place is no id. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof HttpStatusError)) return false;
  return error.status === 404 || (error.status === 422 && problemsOf(error).length > 0 && problemsOf(error).every(isNoId));
}

const isNoId = ({ loc = [] }: Problem): boolean => /^(?!column_)\w+_id$/.test(String(loc.at(-1)));

function detailOf(error: HttpStatusError): string {
  const detail = (error.body as { detail?: unknown } | undefined)?.detail;
  if (typeof detail === 'string') return detail;
  const problems = problemsOf(error);
  return problems.length > 0 ? problems.map(({ msg }) => String(msg)).join('; ') : error.message;
}
