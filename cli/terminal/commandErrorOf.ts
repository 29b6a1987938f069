import { ConnectionError, ExperimentRunError, HttpStatusError, TakenOverError, ValueError } from '../../client/index.ts';
import { CommandError, fileError, isFileProblem } from './commandError.ts';
import { type ExitCode, exitCodes } from './exitCodes.ts';
import { plainReason } from './plainReason.ts';

/** The error number of the service for a tag that no experiment which ended has. */
const BASELINE_NOT_FOUND = 3511;

/** Turns a thrown value into the sentence and status that the command ends with. */
export function commandErrorOf(err: unknown): CommandError {
  if (err instanceof CommandError) return err;
  const ended = (exitCode: ExitCode, message = messageOf(err)) => new CommandError(exitCode, message, { cause: err });
  if (err instanceof ValueError && err.message.startsWith('there is no run of ')) return ended(exitCodes.noBaseline);
  if (err instanceof ValueError)
    return ended(err.message.startsWith('there is no ') ? exitCodes.notFound : exitCodes.usage, asOptions(err));
  if (err instanceof ConnectionError) return ended(exitCodes.unreachable, `${messageOf(err)} To find out: assay doctor`);
  if (err instanceof ExperimentRunError || err instanceof TakenOverError) return ended(exitCodes.runFailed);
  if (err instanceof HttpStatusError) return httpError(err);
  if (isFileProblem(err)) return fileError(err);
  return ended(exitCodes.failed);
}

/** Replaces the library's names of parameters by the command's options. */
const asOptions = ({ message }: ValueError): string =>
  message.startsWith('name the project:')
    ? 'name the project: --project or --project-id, SERVICE_PROJECT or SERVICE_PROJECT_ID'
    : plainReason(message);

function httpError(err: HttpStatusError): CommandError {
  const ended = (exitCode: ExitCode, message: string) => new CommandError(exitCode, message, { cause: err });
  switch (err.status) {
    case 401:
      return ended(
        exitCodes.credentials,
        `the service does not accept your credentials (${reasonOf(err)}): log in with assay login`,
      );
    case 403:
      return ended(
        exitCodes.credentials,
        `you may not do this (${reasonOf(err)}): ask an administrator, or log in as someone else`,
      );
    case 404:
      if (err.errorCode === BASELINE_NOT_FOUND) return ended(exitCodes.noBaseline, reasonOf(err));
      return ended(exitCodes.notFound, `there is no such thing, or you may not see it: ${reasonOf(err)}`);
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return ended(exitCodes.usage, `the service refuses this: ${reasonOf(err)}`);
    default:
      return ended(
        exitCodes.failed,
        `the service could not do it (${err.status}: ${reasonOf(err)}): try again${err.requestId ? `; its log has the request as ${err.requestId}` : ''}`,
      );
  }
}

const reasonOf = ({ message }: HttpStatusError): string => plainReason(message);

const messageOf = (err: unknown): string => (err instanceof Error ? err.message || err.name : String(err));
