import type { Provider } from '@nestjs/common';
import { AgentBeats } from './agent.beats.js';
import { AgentHost } from './agent.host.js';
import { AgentLifecycle } from './agent.lifecycle.js';
import { AgentRegistrar } from './agent.registrar.js';
import { AgentSpawner } from './agent.spawner.js';
import { AgentShutdowns } from './agent.shutdowns.js';
import { DefinitionFollower } from './definition.follower.js';
import { HostedAgents } from './hosted.agents.js';
import { DEFAULT_LIFECYCLE_OPTIONS, LIFECYCLE_OPTIONS, type LifecycleOptions } from './lifecycle.options.js';
import { LostHosts } from './lost.hosts.js';
import { RuntimeAgentStore } from './runtime-agent.store.js';
import { RuntimeCommandStore } from './runtime-command.store.js';
import { RuntimeCommands } from './runtime.commands.js';
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
    LostHosts,
    RuntimeCommandStore,
    RuntimeCommands,
    AgentShutdowns,
    DefinitionFollower,
    AgentLifecycle,
    { provide: HostedAgents, useExisting: AgentLifecycle },
  ];
}
