import type { Schema } from '#rollcall/platform';
import { ToolPins1763500000000 } from './migrations/1763500000000-tool-pins.js';
import { Definitions1763600000000 } from './migrations/1763600000000-definitions.js';
import { Lifecycle1763700000000 } from './migrations/1763700000000-lifecycle.js';
import { Runs1763800000000 } from './migrations/1763800000000-runs.js';
import { RejectedRuns1763910000000 } from './migrations/1763910000000-rejected-runs.js';
import { RunRedaction1763930000000 } from './migrations/1763930000000-run-redaction.js';
import { RunChanges1763950000000 } from './migrations/1763950000000-run-changes.js';
import { RunCapacity1764100000000 } from './migrations/1764100000000-run-capacity.js';
import { RunPreviews1764203000000 } from './migrations/1764203000000-run-previews.js';
import { RunA2a1764205000000 } from './migrations/1764205000000-run-a2a.js';
import { AgentTasks1764206010000 } from './migrations/1764206010000-agent-tasks.js';
import { RunsOfCaller1764206020000 } from './migrations/1764206020000-runs-of-caller.js';
import { RunPlugins1764207000000 } from './migrations/1764207000000-run-plugins.js';
import { Conversations1764209000000 } from './migrations/1764209000000-conversations.js';
import { WorkspaceReplicas1764209030000 } from './migrations/1764209030000-workspace-replicas.js';
import { RunTrace1764210000000 } from './migrations/1764210000000-run-trace.js';
import { Workspaces1764209020000 } from './migrations/1764209020000-workspaces.js';

/** The tables and migrations of the runtime. */
export const RUNTIME_SCHEMA: Schema = {
  migrations: [
    ToolPins1763500000000,
    Definitions1763600000000,
    Lifecycle1763700000000,
    Runs1763800000000,
    RejectedRuns1763910000000,
    RunRedaction1763930000000,
    RunChanges1763950000000,
    RunCapacity1764100000000,
    RunPreviews1764203000000,
    RunA2a1764205000000,
    AgentTasks1764206010000,
    RunsOfCaller1764206020000,
    RunPlugins1764207000000,
    Conversations1764209000000,
    Workspaces1764209020000,
    WorkspaceReplicas1764209030000,
    RunTrace1764210000000,
  ],
};
