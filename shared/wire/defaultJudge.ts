import { z } from 'zod';

const Model = z.string().min(1).max(512).nullable();

export const DefaultJudgeRequest = z
  .strictObject({ model: Model.describe('A model as its integration lists it, or `integration/model`; null: none.') })
  .meta({ id: 'DefaultJudgeRequest', examples: [{ model: 'large-model' }] });
export const DefaultJudgeResponse = z
  .object({ project_id: z.string(), model: Model.describe('As `integration/model`; null: none is set.') })
  .meta({ id: 'DefaultJudgeResponse' });
