import type { Fields } from '../wire/isObject.ts';
import { fieldsOf, textIn, withFieldNames } from './chatParts.ts';

/** The kinds of AWS errors by their names, also where they come without a status or with 400. */
const ERRORS: Readonly<Record<string, { code: string; status: number }>> = {
  throttlingexception: { code: 'rate_limit_exceeded', status: 429 },
  modelnotreadyexception: { code: 'service_unavailable', status: 503 },
  serviceunavailableexception: { code: 'service_unavailable', status: 503 },
  serviceunavailable: { code: 'service_unavailable', status: 503 },
  internalserverexception: { code: 'internal_server_error', status: 500 },
  internalfailure: { code: 'internal_server_error', status: 500 },
  internalstreamfailure: { code: 'internal_server_error', status: 500 },
  modelstreamerrorexception: { code: 'upstream_error', status: 502 },
  modelstreamerror: { code: 'upstream_error', status: 502 },
  modelerrorexception: { code: 'upstream_error', status: 424 },
  modeltimeoutexception: { code: 'timeout', status: 408 },
  validationexception: { code: 'invalid_request_error', status: 400 },
  validationerror: { code: 'invalid_request_error', status: 400 },
  resourcenotfoundexception: { code: 'not_found', status: 404 },
  unknownoperationexception: { code: 'not_found', status: 404 },
  accessdeniedexception: { code: 'permission_denied', status: 403 },
  unrecognizedclientexception: { code: 'unauthenticated', status: 403 },
  invalidsignatureexception: { code: 'unauthenticated', status: 403 },
  expiredtokenexception: { code: 'unauthenticated', status: 403 },
  servicequotaexceededexception: { code: 'quota_exceeded', status: 400 },
};

/** The name of an error stands in a header, `ThrottlingException:http://…`, or in the body, `com.amazon.coral.service#…`. */
export const awsErrorKind = (said: unknown, headers?: Headers): string | undefined =>
  headers?.get('x-amzn-errortype') ?? textIn(fieldsOf(said).__type) ?? textIn(fieldsOf(fieldsOf(said).Output).__type);

/** An error of AWS as OpenAI's endpoints say it. @param names of fields in its text, as chat completion requests call them */
export function awsError(kind: string, text: string, names: Parameters<typeof withFieldNames>[1] = []): Fields {
  const name = kind.split(':')[0]?.split('#').at(-1)?.toLowerCase() ?? '';
  return { error: { message: withFieldNames(text, names), ...(ERRORS[name] ?? { type: 'error' }) } };
}
