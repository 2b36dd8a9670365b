import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Lock } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import type { DefinitionPage } from '#rollcall/client';
import { count, plain } from '../../parts/format.js';
import { Ago, Tag, useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { isEditable, ORIGINS } from './definition-words.js';
import { Import } from './import.js';

const PAGE = 100;

/** The definitions of the namespace, with their origin and revision. */
export function Definitions(): ReactNode {
  useTitle('Definitions');
  const { api, may } = useCaller();
  const list = useInfiniteQuery({
    queryKey: ['definitions', 'list'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.definitions.list({ limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const mayWrite = may('definitions:write');
  return (
    <>
      <section className="card">
        <header>
          <h2>Definitions</h2>
          <small>{rows ? `${count(rows.length)}${list.hasNextPage ? '+' : ''}` : ''}</small>
          <span className="space" />
          {mayWrite && (
            <Link to="/new-definition" className="button primary">
              New definition
            </Link>
          )}
        </header>
        <Loaded query={{ data: rows, error: list.error }}>
          {(all) =>
            all.length === 0 ? (
              <Empty>
                There is no definition in this namespace.{' '}
                {mayWrite ? (
                  <>
                    Write one, drop spec files below, or run <code>rollcall definitions import agents</code>.
                  </>
                ) : (
                  'An operator registers one.'
                )}
              </Empty>
            ) : (
              <Table definitions={all} />
            )
          }
        </Loaded>
        {list.hasNextPage && (
          <div className="padded">
            <div className="buttons">
              <button className="button" type="button" onClick={() => void list.fetchNextPage()}>
                Show more definitions
              </button>
            </div>
          </div>
        )}
      </section>
      {mayWrite && <Import />}
    </>
  );
}

/** How many agents replicas host, by definition. */
function useLiveCounts(): ReadonlyMap<string, number> {
  const { api } = useCaller();
  const { data } = useQuery({
    queryKey: ['agents', 'hosted'],
    queryFn: async ({ signal }) => (await api.runtime.listAgents({ limit: 200 }, { signal }).page()).items,
  });
  const counts = new Map<string, number>();
  for (const { definition } of data ?? [])
    if (definition !== null) counts.set(definition, (counts.get(definition) ?? 0) + 1);
  return counts;
}

function Table({ definitions }: { definitions: DefinitionPage['items'] }): ReactNode {
  const live = useLiveCounts();
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Definitions">
      <table>
        <thead>
          <tr>
            <th scope="col">Definition</th>
            <th scope="col">Origin</th>
            <th scope="col" className="number secondary">
              Revision
            </th>
            <th scope="col" className="secondary">
              What it is for
            </th>
            <th scope="col" className="secondary">
              Capabilities
            </th>
            <th scope="col" className="number secondary">
              Live
            </th>
            <th scope="col" className="number">
              Changed
            </th>
          </tr>
        </thead>
        <tbody>
          {definitions.map((definition) => {
            const { name, source, revision, description, capabilities, createdAt, createdBy } = definition;
            const { word, tone, text } = ORIGINS[source];
            return (
              <tr key={name}>
                <td title={plain(name)}>
                  <Link to="/definitions/$name" params={{ name }}>
                    {plain(name)}
                  </Link>
                </td>
                <td title={`It ${text}.`}>
                  <Tag tone={tone}>
                    {!isEditable(definition) && <Lock size={11} aria-label="read-only" />}
                    {word}
                  </Tag>
                </td>
                <td className="number secondary">{count(revision)}</td>
                <td className="secondary muted" title={plain(description.slice(0, 300))}>
                  {plain(description.slice(0, 200))}
                </td>
                <td className="secondary">
                  {capabilities.slice(0, 2).map((capability) => (
                    <span className="capability" key={capability}>
                      {plain(capability)}
                    </span>
                  ))}
                  {capabilities.length > 2 && <span className="muted">+{capabilities.length - 2}</span>}
                </td>
                <td className="number secondary">{count(live.get(name) ?? 0)}</td>
                <td className="number" title={`by ${plain(createdBy)}`}>
                  <Ago at={createdAt} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
