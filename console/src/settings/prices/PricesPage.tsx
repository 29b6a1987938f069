import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useGoing } from '../../data/deletions.ts';
import { type IntegrationRow, integrationsQuery, type OwnPrice, ownPricesQuery } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { UNKNOWN } from '../../parts/format.ts';
import lists from '../../parts/ListPage.module.css';
import { LoadingNote } from '../../parts/notes.tsx';
import { keptText, rateRange } from '../integrations/priceText.ts';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';

/** The prices that were set, of all integrations, in US dollars per million tokens. */
export function PricesPage() {
  const { data, error, refetch } = useQuery(integrationsQuery);
  const hidden = useGoing();
  return (
    <>
      <SectionHead title="Prices" />
      <p className="quiet">
        US dollars per million tokens, as they were set. They win over the list prices that the service brings along; a call of a
        model that has neither has no cost. They are set on the page of their integration.
      </p>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="prices" />}
      {data && <Prices integrations={data.filter(({ id }) => !hidden.has(id))} />}
    </>
  );
}

function Prices({ integrations }: { integrations: readonly IntegrationRow[] }) {
  const asked = useQueries({ queries: integrations.map(({ id }) => ownPricesQuery(id)) });
  const rows = integrations.flatMap((integration, index) =>
    (asked[index]?.data ?? []).map((price) => ({
      integration,
      price,
      key: `${integration.id} ${price.model} ${price.valid_from}`,
    })),
  );
  const failed = asked.find(({ error }) => error)?.error;
  if (failed) return <ErrorNote error={failed} />;
  if (asked.some(({ data }) => data === undefined)) return <LoadingNote what="prices" />;
  if (rows.length === 0) return <p>None is set: list prices hold.</p>;
  return (
    <table className={`${lists.table} ${styles.prices}`}>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Integration</th>
          <th scope="col" className={lists.wide}>
            From (UTC)
          </th>
          <th scope="col" className="number">
            Input
          </th>
          <th scope="col" className="number">
            Output
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ integration, price, key }) => (
          <tr key={key}>
            <td>
              {price.model}
              <OtherParts price={price} />
            </td>
            <td>
              <Link to="/settings/integrations/$integrationId" params={{ integrationId: integration.id }}>
                {integration.name}
              </Link>
            </td>
            <td className={lists.wide}>{price.valid_from?.slice(0, 16).replace('T', ' ') ?? 'always'}</td>
            <td className="number">{rateRange(price.input) ?? UNKNOWN}</td>
            <td className="number">{rateRange(price.output) ?? UNKNOWN}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The parts that have no column. */
function OtherParts({
  price: { model: _model, valid_from: _from, input: _input, output: _output, ...others },
}: {
  price: OwnPrice;
}) {
  const set = Object.entries(others).filter(([, rate]) => rate !== null && rate !== undefined);
  return set.length > 0 && <p className="quiet">{keptText(Object.fromEntries(set))}</p>;
}
