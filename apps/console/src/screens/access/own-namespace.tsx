import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { NamespaceView } from '#rollcall/client';
import { count, plain } from '../../parts/format.js';
import { Ago, Fact, Meter } from '../../parts/parts.js';
import { Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

/** The credential in use, and the namespace with its limits and what uses them. */
export function OwnNamespace(): ReactNode {
  const { api, me, namespace } = useCaller();
  const query = useQuery({
    queryKey: ['namespaces', 'one', namespace],
    queryFn: async ({ signal }) => await api.namespaces.get(namespace, { signal }),
  });
  return (
    <div className="grid wide-narrow">
      <section className="card">
        <header>
          <h2>Namespace {plain(namespace)}</h2>
          <small>what it contains, and its limits</small>
        </header>
        <Loaded query={query}>{(one) => <Limits namespace={one} />}</Loaded>
      </section>
      <section className="card">
        <h2>You</h2>
        <dl className="facts">
          <Fact term="Name">{plain(me.name)}</Fact>
          <Fact term="Credential">
            {me.kind === 'key' ? 'API key' : 'single sign-on'} <span className="mono muted">{plain(me.id)}</span>
          </Fact>
          <Fact term="Roles">{me.roles.join(', ')}</Fact>
          <Fact term="Namespaces">{me.namespaces.includes('*') ? 'all' : plain(me.namespaces.join(', '))}</Fact>
          <Fact term="Session ends">{me.expiresAt === null ? 'never' : <Until at={me.expiresAt} />}</Fact>
        </dl>
      </section>
    </div>
  );
}

function Until({ at }: { at: string }): ReactNode {
  return <time dateTime={at}>{new Date(at).toLocaleString()}</time>;
}

const LABELS: Record<keyof NamespaceView['limits'], string> = {
  agents: 'Live agents',
  keys: 'Active keys',
  webhooks: 'Webhooks',
  requestsPerSecond: 'Requests',
  eventsKept: 'Events in the log',
};

function Limits({ namespace }: { namespace: NamespaceView }): ReactNode {
  const { limits, use, description, createdAt } = namespace;
  return (
    <dl className="facts">
      {description !== null && <Fact term="Purpose">{plain(description)}</Fact>}
      {(Object.keys(LABELS) as (keyof NamespaceView['limits'])[]).map((name) => {
        const [limit, used] = [limits[name], use[name]];
        const share = limit > 0 && used !== undefined ? used / limit : 0;
        return (
          <Fact term={LABELS[name]} key={name}>
            {limit > 0 && used !== undefined ? (
              <Meter share={share} {...(share >= 0.9 && { tone: 'warn' as const })}>
                {count(used)} of {count(limit)}
              </Meter>
            ) : (
              <>
                {used !== undefined && `${count(used)} · `}
                {limit > 0 ? `at most ${count(limit)}` : 'no limit'}
                {name === 'requestsPerSecond' && limit > 0 && ' per second on each replica'}
              </>
            )}
          </Fact>
        );
      })}
      <Fact term="Created">
        <Ago at={createdAt} /> ago
      </Fact>
    </dl>
  );
}
