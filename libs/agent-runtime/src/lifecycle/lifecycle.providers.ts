import type { Provider } from '@nestjs/common';
import { AgentBeats } from './agent.beats.js';
import { AgentHost } from './agent.host.js';
import { AgentLifecycle } from './agent.lifecycle.js';
import { AgentRegistrar } from './agent.registrar.js';
import { AgentSpawner } from './agent.spawner.js';
import { HostedAgents } from './hosted.agents.js';
import { DEFAULT_LIFECYCLE_OPTIONS, LIFECYCLE_OPTIONS, type LifecycleOptions } from './lifecycle.options.js';
import { RuntimeAgentStore } from './runtime-agent.store.js';
import { SpawnPlans } from './spawn.plans.js';

export function lifecycleProviders(options: Partial<LifecycleOptions>): Provider[] {
  return [
    { provide: LIFECYCLE_OPTIONS, useValue: { ...DEFAULT_LIFECYCLE_OPTIONS, ...options } },
    RuntimeAgentStore,
    AgentRegistrar,
    AgentHost,
    SpawnPlans,
    AgentSpawner,
    AgentBeats,
    AgentLifecycle,
    { provide: HostedAgents, useExisting: AgentLifecycle },
  ];
}
