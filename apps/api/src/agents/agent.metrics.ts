import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { Directory, DirectoryFollower, ProtectionStore, Ranker, RegistryClock } from '#rollcall/registry';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter, gauge, single } from '../telemetry/measure.js';

const MODES = ['normal', 'protecting', 'throttled'] as const;

/** The fleet as this replica sees it. */
@Injectable()
export class AgentMetrics {
  constructor(directory: Directory, clock: RegistryClock, follower: DirectoryFollower, { registry }: HttpMetrics) {
    const agents = {
      name: 'rollcall_agents',
      help: 'Live agents by status and health. The same on every replica.',
      labels: ['status', 'health'],
    } as const;
    gauge(registry, agents, () =>
      directory
        .census(clock.now())
        .agents()
        .map(({ count, ...labels }) => [count, labels] as const),
    );
    const circuits = {
      name: 'rollcall_circuits',
      help: 'Circuits of live agents by phase. The same on every replica.',
      labels: ['phase'],
    } as const;
    gauge(registry, circuits, () =>
      [...directory.census(clock.now()).circuits].map(([phase, count]) => [count, { phase }] as const),
    );
    const age = {
      name: 'rollcall_directory_age_seconds',
      help: 'The time since the directory of this replica last had all events of the log.',
    };
    gauge(registry, age, () => {
      const ageMs = follower.ageMs();
      return Number.isFinite(ageMs) ? single(ageMs / 1_000) : [];
    });
  }
}

/** Heartbeats, evictions and queries of this replica. */
@Injectable()
export class LivenessMetrics {
  constructor({ counts }: Database, protection: ProtectionStore, ranker: Ranker, { registry }: HttpMetrics) {
    const beats = {
      name: 'rollcall_heartbeats_total',
      help: 'Heartbeats that this replica committed or rejected.',
      labels: ['outcome'],
    } as const;
    counter(registry, beats, () =>
      ['accepted', 'rejected'].map((outcome) => [counts.get(`heartbeats.${outcome}`), { outcome }]),
    );
    const evictions = {
      name: 'rollcall_evictions_total',
      help: 'Agents that this replica evicted because they missed their heartbeats.',
    };
    counter(registry, evictions, () => single(counts.get('evictions')));
    const mode = {
      name: 'rollcall_self_preservation',
      help: '1 for the mode of self-preservation in effect, 0 for the others. The same on every replica.',
      labels: ['mode'],
    } as const;
    gauge(registry, mode, async () => {
      const { state } = await protection.read();
      return MODES.map((one) => [one === (state?.mode ?? 'normal') ? 1 : 0, { mode: one }] as const);
    });
    countQueries(ranker, registry);
  }
}

function countQueries({ counts }: Ranker, registry: HttpMetrics['registry']): void {
  const all = { name: 'rollcall_queries_total', help: 'Queries for agents that this replica answered.' };
  counter(registry, all, () => single(counts.queries));
  const empty = {
    name: 'rollcall_queries_without_candidate_total',
    help: 'Queries of this replica whose result had no candidate.',
  };
  counter(registry, empty, () => single(counts.empty));
  const time = {
    name: 'rollcall_query_ranking_seconds_total',
    help: 'The time that this replica spent on ranking. Divide it by the number of queries to get the average.',
  };
  counter(registry, time, () => single(counts.milliseconds / 1_000));
}
