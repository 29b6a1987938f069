import type { Caller } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { disableIntegration, selectIntegration } from '../../shared/integrations/choices.ts';
import { toRecord } from '../../shared/integrations/describe.ts';
import type { IntegrationStore } from '../../shared/integrations/integration.ts';
import { AnyJson } from '../../shared/wire/common.ts';
import {
  IntegrationDB,
  IntegrationDisableRequest,
  IntegrationIdPath,
  IntegrationSelectRequest,
} from '../../shared/wire/integrations.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface IntegrationChoiceRouteDeps {
  store: IntegrationStore;
  assets: AssetAccess;
}

const tag = 'Integrations';
/** A choice is the user's, for all projects: a key limited to a project makes none. */
const access = { organization: 'choose_integrations' } as const;

/** Which integrations the calls of a user take. */
export function integrationChoiceRoutes({ store, assets }: IntegrationChoiceRouteDeps): Endpoint[] {
  const select = async (caller: Caller, id: string, name?: string) => {
    await assets.require(caller, 'integration', id, 'read');
    const integration = await selectIntegration(store, caller.userId, id, name);
    return toRecord(integration, (await assets.roles(caller, 'integration', [id])).get(id), caller.userId);
  };
  return [
    endpoint({
      method: 'post',
      path: '/integrations/select',
      errors: ['IntegrationNotFound'],
      summary: 'Have your calls take an integration before others',
      description:
        'It comes before the other integrations of its provider in the calls that are made for you: those of your runs, log streams and prompts. Takes back that you disabled it.',
      tag,
      access,
      body: IntegrationSelectRequest,
      response: IntegrationDB,
      handle: ({ body, caller }) => select(caller, body.integration_id, body.integration_name),
    }),
    endpoint({
      method: 'put',
      path: '/integrations/{integration_id}/select',
      summary: 'Have your calls take an integration before others, by its id',
      tag,
      access: { asset: 'integration', action: 'read' },
      params: IntegrationIdPath,
      response: IntegrationDB,
      handle: ({ params, caller }) => select(caller, params.integration_id),
    }),
    endpoint({
      method: 'post',
      path: '/integrations/disable',
      errors: ['IntegrationNotFound'],
      summary: 'Have your calls use no integration of a provider, or not one of them',
      description:
        'Others go on using it. A call that is made for you and names a model of it fails and says so. `POST /integrations/select` takes it back.',
      tag,
      access,
      body: IntegrationDisableRequest,
      response: AnyJson,
      handle: async ({ body, caller }) =>
        disableIntegration(
          store,
          caller.userId,
          body.integration_name,
          async (ids) => new Set((await assets.roles(caller, 'integration', ids)).keys()),
        ),
    }),
  ];
}
