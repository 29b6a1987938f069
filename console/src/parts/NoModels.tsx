import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { modelNamesQuery } from '../data/modelNames.ts';
import { useStanding } from '../data/permissions.ts';

/** Says that no integration offers the account a model, and who can change that. */
export function NoModels() {
  const { data: models } = useQuery(modelNamesQuery);
  const { addsIntegrations } = useStanding();
  if (models === undefined || models.length > 0) return null;
  return (
    <p role="note">
      No model can be called yet:{' '}
      {addsIntegrations ? (
        <Link to="/settings/integrations/new">connect a provider of models</Link>
      ) : (
        'whoever manages integrations connects a provider of models'
      )}
      .
    </p>
  );
}
