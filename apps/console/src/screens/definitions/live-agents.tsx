import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import type { HostedAgentView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain } from '../../parts/format.js';
import { Ago, Tag, type Tone } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

const AT_ONCE = 200;
/** A call that begins or ends has no event. */
const STATE_EVERY_MS = 5_000;

/** The agents of a definition that replicas host now. */
export function useLiveAgents(definition: string): UseQueryResult<HostedAgentView[]> {
  const { api } = useCaller();
  return useQuery({
    queryKey: ['agents', 'hosted', definition],
    queryFn: async ({ signal }) =>
      (await api.runtime.listAgents({ limit: AT_ONCE }, { signal }).page()).items.filter(
        (agent) => agent.definition === definition,
      ),
    refetchInterval: STATE_EVERY_MS,
  });
}

const TONES: Record<HostedAgentView['state'], Tone> = { idle: 'good', busy: 'info', failed: 'bad', closed: 'off' };

export function LiveAgents({ definition }: { definition: string }): ReactNode {
  const query = useLiveAgents(definition);
  return (
    <section className="card">
      <h2>Live agents</h2>
      <Loaded query={query}>
        {(agents) =>
          agents.length === 0 ? (
            <Empty>No replica hosts an agent of this definition now. A run builds one when it needs it.</Empty>
          ) : (
            <ul className="plain-list">
              {agents.map((agent) => (
                <li className="live-agent" key={agent.name}>
                  <Link to="/agents/$agentId" params={{ agentId: agent.name }} className="text-link">
                    <b>{plain(agent.name)}</b>
                  </Link>
                  <Tag tone={TONES[agent.state]}>{agent.state}</Tag>
                  <span className="muted" title={plain(agent.replicaId)}>
                    rev {agent.revision ?? '–'} · {count(agent.inFlight)} calls · <Ago at={agent.spawnedAt} />
                  </span>
                  <Shutdown agent={agent} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function Shutdown({ agent: { name } }: { agent: HostedAgentView }): ReactNode {
  const { api, may } = useCaller();
  if (!may('agents:spawn')) return null;
  return (
    <Action
      label="Shut down…"
      tone="danger"
      title={`Shut down ${plain(name)}?`}
      verb="Shut down"
      hasNote={false}
      request={() => ({ method: 'DELETE', path: `/v1/runtime/agents/${encodeURIComponent(name)}` })}
      run={async (_note, idempotencyKey) => await api.runtime.shutdownAgent(name, {}, { idempotencyKey })}
    >
      <p>Its calls are aborted and it leaves the registry, whichever replica hosts it. “Spawn” starts it again.</p>
    </Action>
  );
}

/** Builds an agent of the definition before a run needs it, or a second one with another name. */
export function Spawn({ definition }: { definition: string }): ReactNode {
  const { api } = useCaller();
  const nameId = useId();
  const [name, setName] = useState('');
  const body = { definition, ...(name !== '' && { name }) };
  return (
    <Action
      label="Spawn…"
      title={`Spawn an agent of ${plain(definition)}?`}
      verb="Spawn"
      hasNote={false}
      request={() => ({ method: 'POST', path: '/v1/runtime/agents', body })}
      run={async (_note, idempotencyKey) => await api.runtime.spawn(body, { idempotencyKey })}
    >
      <p>
        One replica builds the agent now and registers it. “Shut down” undoes it. Without a name, it gets that of the
        definition.
      </p>
      <label htmlFor={nameId}>
        Name of the agent
        <input
          id={nameId}
          className="field mono"
          value={name}
          maxLength={128}
          placeholder={plain(definition)}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target }) => setName(target.value.trim())}
        />
      </label>
    </Action>
  );
}
