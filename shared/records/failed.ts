/** The first status that HTTP gives to failures. */
const FIRST_FAILURE = 400;

interface Outcome {
  error_message?: string | null | undefined;
  status_code?: number | null | undefined;
}

/** True for a record whose status is that of a failure. */
export const isFailure = ({ status_code }: Pick<Outcome, 'status_code'>): boolean => (status_code ?? 0) >= FIRST_FAILURE;

/** Returns the error of a record, undefined when it has not failed. A record has failed when it has an error message or the status of a failure. */
export const errorOf = (record: Outcome): string | undefined =>
  record.error_message || (isFailure(record) ? `status ${record.status_code}` : undefined);

/** The same as SQL over the columns of a record. */
export const FAILED = `(error_message != '' OR ifNull(status_code, 0) >= ${FIRST_FAILURE})`;

/** The same as a filter of searches. */
export const failedFilter = {
  or: [
    { filter: { type: 'text', column_id: 'error_message', operator: 'ne', value: '' } },
    { filter: { type: 'number', column_id: 'status_code', operator: 'gte', value: FIRST_FAILURE } },
  ],
} as const;
