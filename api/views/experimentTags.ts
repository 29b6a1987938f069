import type { RunTag } from '../../shared/experiments/experimentStore.ts';

export const tagToWire = (tagOfRun: RunTag) => ({
  id: tagOfRun.id,
  key: tagOfRun.key,
  value: tagOfRun.value,
  tag_type: tagOfRun.tagType,
  project_id: tagOfRun.projectId,
  run_id: tagOfRun.runId,
  created_by: tagOfRun.createdBy,
  created_at: tagOfRun.createdAt.toISOString(),
  updated_at: tagOfRun.updatedAt.toISOString(),
});
