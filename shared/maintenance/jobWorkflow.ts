/** Names that schedules, the workflow of recurring jobs and its starter share. They are in histories and on servers: a name that was released stays. */
export const RUN_JOB = 'runJob';
/** Ids of the schedules of recurring jobs begin with it; no other schedule of a namespace is looked at. */
export const JOB_SCHEDULE_PREFIX = 'assay-job-';

export const jobScheduleId = (name: string): string => `${JOB_SCHEDULE_PREFIX}${name}`;

export interface JobInput {
  name: string;
}
