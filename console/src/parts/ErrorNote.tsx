import { Link } from '@tanstack/react-router';
import { ConnectionError, HttpStatusError } from '../../../client/errors.ts';
import styles from './notes.module.css';

/** What failed, in the words of the service, with what one can do about it. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const isMissing = error instanceof HttpStatusError && error.status === 404;
  return (
    <div role="alert" className={isMissing ? styles.missing : styles.error}>
      {isMissing && <h1>Not found</h1>}
      <p>{sentenceOf(error)}</p>
      {error instanceof HttpStatusError && error.requestId !== undefined && (
        <p className="quiet">
          Request <code>{error.requestId}</code>
        </p>
      )}
      {isMissing && (
        <p>
          <Link to="/">All projects</Link>
        </p>
      )}
      {onRetry && !isMissing && (
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
    if (error.status === 404) return 'There is nothing here: it was deleted, or your account does not see it.';
    if (error.status === 403) return `Your account may not do this: ${detailOf(error)}`;
    return detailOf(error);
  }
  return error instanceof Error ? error.message : String(error);
}

function detailOf({ body, message }: HttpStatusError): string {
  const detail = (body as { detail?: unknown } | undefined)?.detail;
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) return detail.map((one: { msg?: unknown }) => String(one.msg)).join('; ');
  return message;
}
