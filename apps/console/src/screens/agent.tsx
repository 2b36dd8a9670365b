import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AgentView } from '#rollcall/client';
import { Action } from '../parts/action.js';
import { count, money, plain, spanText, words } from '../parts/format.js';
import { Ago, Fact, Json, Stat, Tag, useTitle } from '../parts/parts.js';
import { Empty, Loaded } from '../parts/states.js';
import { useCaller } from '../session/session.js';
import { leaveText, origin, price, standing } from './agent-words.js';
import { amounts, windowText } from './budgets/budget-words.js';
import { SpentBar } from './budgets/spent-bar.js';
import { eventSubject, eventText } from './event-text.js';
import { runTone } from './run-words.js';

/** One agent: what is wrong with it, what it may spend, what it did, and what an operator can do. */
export function Agent(): ReactNode {
  const { agentId } = useParams({ from: '/agents/$agentId' });
  useTitle(plain(agentId));
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['agent', agentId],
    queryFn: async ({ signal }) => await api.agents.get(agentId, { signal }),
    refetchInterval: 5_000,
  });
  return (
    <Loaded query={query}>
      {(agent) => (
        <>
          <Operations agent={agent} />
          <States agent={agent} />
          <div className="grid wide-narrow">
            <div className="grid">
              <Budgets agentId={agentId} />
              <Outcomes agentId={agentId} />
              <LastRuns agentId={agentId} />
            </div>
            <div className="grid">
              <Declaration agent={agent} />
              <History agentId={agentId} />
            </div>
          </div>
          {agent.agentCard && (
            <section className="card">
              <h2>Agent card</h2>
              <div className="padded">
                <Json value={agent.agentCard} />
              </div>
            </section>
          )}
        </>
      )}
    </Loaded>
  );
}

/** What an operator can do with the agent in its state. */
function Operations({ agent }: { agent: AgentView }): ReactNode {
  const { api, may } = useCaller();
  const { agentId, status, desiredState } = agent;
  const name = plain(agentId);
  const path = (verb: string): string => `/v1/agents/${encodeURIComponent(agentId)}/${verb}`;
  const bodyOf = (note: string): { note?: string } => (note === '' ? {} : { note });
  return (
    <div className="buttons">
      <Link to="/fleet" className="text-link muted">
        ← Fleet
      </Link>
      <span className="space" />
      {may('agents:query') && (
        <Link to="/who" search={{ query: { capabilities: agent.capabilities }, about: agentId }} className="button">
          Would it be picked?
        </Link>
      )}
      {may('agents:operate') && desiredState === 'active' && status !== 'left' && (
        <Action
          label="Drain…"
          title={`Drain ${name}?`}
          verb="Drain"
          request={(note) => ({ method: 'POST', path: path('drain'), body: bodyOf(note) })}
          run={async (note, idempotencyKey) => await api.agents.drain(agentId, bodyOf(note), { idempotencyKey })}
        >
          <p>It gets no new work and completes what it has. “Resume” undoes it.</p>
        </Action>
      )}
      {may('agents:operate') && desiredState !== 'active' && (
        <Action
          label="Resume…"
          tone="primary"
          title={`Resume ${name}?`}
          verb="Resume"
          request={(note) => ({ method: 'POST', path: path('resume'), body: bodyOf(note) })}
          run={async (note, idempotencyKey) => await api.agents.resume(agentId, bodyOf(note), { idempotencyKey })}
        >
          <p>It gets work again. “Drain” undoes it.</p>
        </Action>
      )}
      {may('agents:operate') && desiredState !== 'quarantined' && (
        <Action
          label="Quarantine…"
          tone="danger"
          title={`Quarantine ${name}?`}
          verb="Quarantine"
          request={(note) => ({ method: 'POST', path: path('quarantine'), body: bodyOf(note) })}
          run={async (note, idempotencyKey) => await api.agents.quarantine(agentId, bodyOf(note), { idempotencyKey })}
        >
          <p>It gets no work until somebody resumes it, also after it registers again. “Resume” undoes it.</p>
        </Action>
      )}
      {may('agents:operate') && status !== 'left' && (
        <Action
          label="Evict…"
          tone="danger"
          title={`Evict ${name}?`}
          verb="Evict"
          hasNote={false}
          request={() => ({ method: 'POST', path: path('evict') })}
          run={async (_note, idempotencyKey) => await api.agents.evict(agentId, { idempotencyKey })}
        >
          <p>Its registration ends now, and calls in progress are lost. The agent may register again.</p>
        </Action>
      )}
    </div>
  );
}

const HEALTH: Record<'active' | 'suspect', string> = { active: 'sends heartbeats', suspect: 'misses heartbeats' };
const CIRCUITS: Record<AgentView['health']['circuitBreakerState'], string> = {
  closed: 'closed: calls are admitted',
  open: 'open: calls are rejected until a probe',
  half_open: 'half open: one call is admitted as a probe',
};
const DESIRED: Record<AgentView['desiredState'], string> = {
  active: 'work as usual',
  draining: 'no new work',
  quarantined: 'no work at all',
};

/** Health, circuit and desired state are independent of each other, so they are side by side. */
function States({ agent }: { agent: AgentView }): ReactNode {
  const { health, desiredState, load, leftAt } = agent;
  const { word, tone } = standing(agent);
  const { lastHeartbeat, state, consecutiveFailures, circuitBreakerState } = health;
  return (
    <div className="grid four">
      <Stat
        label="State"
        value={<Tag tone={tone}>{word}</Tag>}
        detail={
          leftAt === null ? (
            `${count(load.inFlight)} of ${load.capacity === null ? 'any number of' : count(load.capacity)} tasks, ${Math.round(load.ratio * 100)} % load`
          ) : (
            <>
              {leaveText(agent)}, <Ago at={leftAt} /> ago
            </>
          )
        }
      />
      <Stat
        label="Last heartbeat"
        value={<Ago at={lastHeartbeat} />}
        detail={state === null ? 'has left' : HEALTH[state]}
        {...(state === 'suspect' && { tone: 'bad' as const })}
      />
      <Stat
        label="Circuit"
        value={words(circuitBreakerState)}
        detail={`${CIRCUITS[circuitBreakerState]}; ${count(consecutiveFailures)} failures in a row`}
        {...(circuitBreakerState === 'open' && { tone: 'bad' as const })}
      />
      <Stat label="Desired by operators" value={words(desiredState)} detail={DESIRED[desiredState]} />
    </div>
  );
}

function Declaration({ agent }: { agent: AgentView }): ReactNode {
  const { name, endpoint, capabilities, provider, version, labels, owner, latency, registeredAt, generation } = agent;
  const facts: [string, ReactNode][] = [
    ['Name', plain(name)],
    ['Origin', origin(agent)],
    ['Called at', endpoint === null ? 'has no address' : plain(endpoint)],
    ['Provider', plain([provider.adapter, provider.type, provider.plan].filter((text) => text !== null).join(' · '))],
    ['Price', price(agent)],
    [
      'Latency',
      latency.observedMs === null
        ? latency.declaredMs === null
          ? 'unknown'
          : `${spanText(latency.declaredMs)}, declared`
        : `${spanText(latency.observedMs)}, observed`,
    ],
    ['Version', version === null ? 'not stated' : plain(version)],
    ['Owner', plain(owner)],
    [
      'Registered',
      <>
        <Ago at={registeredAt} /> ago, generation {count(generation)}
      </>,
    ],
  ];
  return (
    <section className="card">
      <h2>Declaration</h2>
      <dl className="facts">
        {facts.map(([term, value]) => (
          <Fact key={term} term={term}>
            {value}
          </Fact>
        ))}
        <Fact term="Capabilities">
          {capabilities.map((capability) => (
            <span className="capability" key={capability}>
              {plain(capability)}
            </span>
          ))}
        </Fact>
        {Object.keys(labels).length > 0 && (
          <Fact term="Labels">
            {Object.entries(labels).map(([label, value]) => (
              <span className="capability" key={label}>
                {plain(`${label}=${value}`)}
              </span>
            ))}
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Budgets({ agentId }: { agentId: string }): ReactNode {
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['budgets', 'agent', agentId],
    queryFn: async ({ signal }) => (await api.agents.getBudget(agentId, { signal })).budgets,
  });
  return (
    <section className="card">
      <h2>Budgets</h2>
      <Loaded query={query}>
        {(budgets) =>
          budgets.length === 0 ? (
            <Empty>
              The agent has no budget of its own. <code>POST /v1/budgets</code> opens one.
            </Empty>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Window</th>
                    <th scope="col">Used and held</th>
                    <th scope="col" className="number">
                      Left
                    </th>
                    <th scope="col" className="number secondary">
                      Used
                    </th>
                    <th scope="col" className="number secondary">
                      Held
                    </th>
                    <th scope="col" className="number">
                      Limit
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {budgets.map((budget) => (
                    <tr key={budget.id}>
                      <td>
                        <Link to="/budgets/$budgetId" params={{ budgetId: budget.id }}>
                          {windowText(budget)}
                        </Link>
                      </td>
                      <td>
                        <SpentBar budget={budget} />
                      </td>
                      <td className="number">{amounts(budget.available)}</td>
                      <td className="number secondary">{amounts(budget.usage.subtree)}</td>
                      <td className="number secondary">{amounts(budget.reserved)}</td>
                      <td className="number">{amounts(budget.limit)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function Outcomes({ agentId }: { agentId: string }): ReactNode {
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['agents', 'outcomes', agentId],
    queryFn: async ({ signal }) => (await api.agents.listOutcomes(agentId, { limit: 10 }, { signal }).page()).items,
  });
  return (
    <section className="card">
      <header>
        <h2>Last calls</h2>
        <small>as callers report them</small>
      </header>
      <Loaded query={query}>
        {(outcomes) =>
          outcomes.length === 0 ? (
            <Empty>
              No caller has reported a call. <code>POST /v1/agents/{'{id}'}/outcomes</code> reports one; runs report
              theirs by themselves.
            </Empty>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Age</th>
                    <th scope="col">Result</th>
                    <th scope="col">Caller</th>
                    <th scope="col" className="number">
                      Latency
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {outcomes.map(({ number, at, ok, reporter, latencyMs }) => (
                    <tr key={number}>
                      <td>
                        <Ago at={at} />
                      </td>
                      <td>
                        <Tag tone={ok ? 'good' : 'bad'}>{ok ? 'succeeded' : 'failed'}</Tag>
                      </td>
                      <td title={plain(reporter.id)}>{plain(reporter.name)}</td>
                      <td className="number">{latencyMs === null ? '–' : spanText(latencyMs)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function LastRuns({ agentId }: { agentId: string }): ReactNode {
  const { api, may } = useCaller();
  const query = useQuery({
    queryKey: ['runs', 'agent', agentId],
    enabled: may('runs:read'),
    queryFn: async ({ signal }) => (await api.runs.list({ agent: agentId, limit: 10 }, { signal }).page()).items,
  });
  if (!may('runs:read')) return null;
  return (
    <section className="card">
      <h2>Last runs</h2>
      <Loaded query={query}>
        {(runs) =>
          runs.length === 0 ? (
            <Empty>
              The agent has executed no run. <code>POST /v1/runs</code> with <code>{'{"agent": …, "input": …}'}</code>{' '}
              starts one.
            </Empty>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Age</th>
                    <th scope="col">State</th>
                    <th scope="col">Input</th>
                    <th scope="col" className="number">
                      Cost
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {runs.map(({ id, createdAt, state, inputPreview, usage }) => (
                    <tr key={id}>
                      <td>
                        <Ago at={createdAt} />
                      </td>
                      <td>
                        <Tag tone={runTone(state)}>{state}</Tag>
                      </td>
                      <td>
                        <Link to="/runs/$runId" params={{ runId: id }}>
                          {plain(inputPreview.text) || id}
                        </Link>
                      </td>
                      <td className="number">{usage.costMicroUsd === undefined ? '–' : money(usage.costMicroUsd)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function History({ agentId }: { agentId: string }): ReactNode {
  const { api, may } = useCaller();
  const query = useQuery({
    queryKey: ['events', 'agent', agentId],
    enabled: may('events:read'),
    queryFn: async ({ signal }) =>
      (await api.events.page({ before: 'latest', agentIds: [agentId], limit: 12 }, { signal })).items,
  });
  if (!may('events:read')) return null;
  return (
    <section className="card">
      <h2>History</h2>
      <Loaded query={query}>
        {(events) =>
          events.length === 0 ? (
            <Empty>The log contains no recent event of this agent.</Empty>
          ) : (
            <table>
              <thead className="visually-hidden">
                <tr>
                  <th scope="col">Age</th>
                  <th scope="col">Event</th>
                </tr>
              </thead>
              <tbody>
                {events.map((event) => (
                  <tr key={event.id}>
                    <td>
                      <Ago at={event.time} />
                    </td>
                    <td>
                      {eventText(event)}
                      <small>{eventSubject(event)}</small>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </section>
  );
}
