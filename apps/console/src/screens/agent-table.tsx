import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import type { AgentView } from '#rollcall/client';
import { plain } from '../parts/format.js';
import { Ago, Meter, Tag } from '../parts/parts.js';
import { useCaller } from '../session/session.js';
import { origin, price, standing, tightest } from './agent-words.js';

/** Rows have the same height, so that only those on the screen are in the page. */
const ROW_PX = 35;
/** Heartbeats have no events, so their age is read again. */
const AGE_EVERY_MS = 5_000;
const COLUMNS = 9;

export interface Selection {
  readonly ids: ReadonlySet<string>;
  toggle(id: string): void;
  toggleAll(): void;
}

interface AgentTableProps {
  agents: readonly AgentView[];
  selection?: Selection | undefined;
  /** Called when the last rows are on the screen. */
  onEnd?: () => void;
}

/** The agents of a list. What is on the screen is read again in one request. */
export function AgentTable({ agents, selection, onEnd }: AgentTableProps): ReactNode {
  const holder = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: agents.length,
    getScrollElement: () => holder.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    onChange: (instance) => {
      const last = instance.getVirtualItems().at(-1)?.index ?? 0;
      if (last >= agents.length - 1) onEnd?.();
    },
  });
  const items = rows.getVirtualItems();
  const shown = items.flatMap(({ index }) => agents[index] ?? []);
  const fresh = useFreshAgents(shown.map(({ agentId }) => agentId));
  const before = items[0]?.start ?? 0;
  const after = rows.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div className="scroll agent-rows" ref={holder} tabIndex={0} role="region" aria-label="Agents">
      <table>
        <thead>
          <tr>
            {selection && (
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Select all that are loaded"
                  checked={selection.ids.size > 0 && selection.ids.size === agents.length}
                  onChange={() => selection.toggleAll()}
                />
              </th>
            )}
            <th scope="col">Agent</th>
            <th scope="col">State</th>
            <th scope="col" className="secondary">
              Capabilities
            </th>
            <th scope="col" className="secondary">
              Load
            </th>
            <th scope="col">
              Budget <span className="secondary">that binds</span>
            </th>
            <th scope="col" className="number secondary">
              Price
            </th>
            <th scope="col" className="number">
              Heartbeat
            </th>
          </tr>
        </thead>
        <tbody>
          <Spacer px={before} />
          {shown.map((agent) => (
            <AgentRow key={agent.agentId} agent={fresh.get(agent.agentId) ?? agent} selection={selection} />
          ))}
          <Spacer px={after} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ px }: { px: number }): ReactNode {
  if (px <= 0) return null;
  return (
    <tr aria-hidden="true">
      <td colSpan={COLUMNS} style={{ height: px, padding: 0, border: 0 }} />
    </tr>
  );
}

function AgentRow({ agent, selection }: { agent: AgentView; selection: Selection | undefined }): ReactNode {
  const { agentId, capabilities, load, health } = agent;
  const { word, tone } = standing(agent);
  const budget = tightest(agent);
  const isSelected = selection?.ids.has(agentId) ?? false;
  return (
    <tr className={isSelected ? 'selected' : ''}>
      {selection && (
        <td>
          <input
            type="checkbox"
            aria-label={`Select ${plain(agentId)}`}
            checked={isSelected}
            onChange={() => selection.toggle(agentId)}
          />
        </td>
      )}
      <td title={plain(agentId)}>
        <Link to="/agents/$agentId" params={{ agentId }}>
          {plain(agentId)}
        </Link>
        <small className="secondary">{origin(agent)}</small>
      </td>
      <td>
        <Tag tone={tone}>{word}</Tag>
      </td>
      <td className="secondary">
        {capabilities.slice(0, 3).map((capability) => (
          <span className="capability" key={capability}>
            {plain(capability)}
          </span>
        ))}
        {capabilities.length > 3 && <span className="muted">+{capabilities.length - 3}</span>}
      </td>
      <td className="secondary">
        <Meter share={load.ratio} {...(load.ratio >= 0.8 && { tone: 'warn' as const })}>
          {Math.round(load.ratio * 100)} %
        </Meter>
      </td>
      <td>
        <Meter share={budget.left} {...(budget.tone && { tone: budget.tone })}>
          {budget.text}
        </Meter>
      </td>
      <td className="number secondary muted">{price(agent)}</td>
      <td className="number">
        <Ago at={health.lastHeartbeat} />
      </td>
    </tr>
  );
}

/** The agents on the screen, as they are now. An agent that has left keeps its last row until the list is read again. */
function useFreshAgents(ids: readonly string[]): ReadonlyMap<string, AgentView> {
  const { api } = useCaller();
  const { data } = useQuery({
    queryKey: ['agents', 'rows', ids],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) =>
      (await api.agents.list({ ids: [...ids].slice(0, 200), limit: 200 }, { signal }).page()).items,
    refetchInterval: AGE_EVERY_MS,
    staleTime: AGE_EVERY_MS,
    placeholderData: (before) => before,
  });
  return new Map((data ?? []).map((agent) => [agent.agentId, agent]));
}
