import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema, getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { WAITING_FOR } from '#rollcall/agent-runtime';
import { type EventPayloads, TYPE_PREFIX } from '#rollcall/platform';
import { EXPIRY_REASONS, LEAVE_REASONS } from '#rollcall/registry';
import { classesOf } from '../http/one.of.js';
import { EVENTS } from './event.catalog.js';

type Data<T extends keyof EventPayloads> = EventPayloads[T];

const TIME = { format: 'date-time', example: '2026-02-24T10:30:00.000Z' } as const;
const COUNT = { type: 'integer', example: 3 } as const;
const BY = { example: 'key:4fT9sKq2Lm', description: 'Who did it.' };
const AGENT_ID = { example: 'builder-01', description: 'The agent.' };
const RUN_ID = '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f';

@ApiSchema({ name: 'NoData' })
class NoData {
  [field: string]: never;
}

@ApiSchema({ name: 'RegistrationData' })
class RegistrationData implements Data<'agent.recovered'> {
  @ApiProperty({ ...COUNT, description: 'The registration of the agentId that the event is about.' })
  generation: number;
}

@ApiSchema({ name: 'AgentJoinedData' })
class AgentJoinedData extends RegistrationData implements Data<'agent.joined'> {
  @ApiProperty({ example: 'Builder', description: 'The name.' }) name: string;
  @ApiProperty({ type: [String], example: ['build'], description: 'The capabilities.' }) capabilities: string[];
}

@ApiSchema({ name: 'AgentLeftData' })
class AgentLeftData extends RegistrationData implements Data<'agent.left'> {
  @ApiProperty({ enum: LEAVE_REASONS, example: 'evicted', description: 'Why it left.' })
  reason: Data<'agent.left'>['reason'];
}

@ApiSchema({ name: 'AgentUpdatedData' })
class AgentUpdatedData extends RegistrationData implements Data<'agent.updated'> {
  @ApiProperty({ type: [String], example: ['endpoint'], description: 'The fields that changed.' }) changed: string[];
  @ApiPropertyOptional({ ...COUNT, description: 'The number of writes of the registration, as in the ETag.' })
  revision?: number;
}

@ApiSchema({ name: 'AgentSuspectData' })
class AgentSuspectData extends RegistrationData implements Data<'agent.suspect'> {
  @ApiProperty({ ...COUNT, description: 'How many heartbeats are missing.' }) missedBeats: number;
}

@ApiSchema({ name: 'ActorData' })
class ActorData implements Data<'agent.draining'> {
  @ApiProperty(BY) by: string;
}

@ApiSchema({ name: 'AgentQuarantinedData' })
class AgentQuarantinedData extends ActorData implements Data<'agent.quarantined'> {
  @ApiPropertyOptional({ example: 'wrong answers', description: 'The reason that the operator gave.' })
  reason?: string;
}

class CircuitReporterView {
  @ApiProperty({ example: 'key:4fT9sKq2Lm', description: 'The caller.' }) id: string;
  @ApiProperty({ example: 'planner', description: 'The name of the caller.' }) name: string;
  @ApiProperty({ ...COUNT, description: 'How many failures it reported.' }) failures: number;
}

@ApiSchema({ name: 'CircuitOpenedData' })
class CircuitOpenedData implements Data<'circuit.opened'> {
  @ApiProperty({ ...COUNT, description: 'How many calls failed in sequence.' }) consecutiveFailures: number;
  @ApiProperty({ ...TIME, description: 'When a probe call is possible.' }) retryAt: string;
  @ApiPropertyOptional({ type: [CircuitReporterView], description: 'The callers that reported these failures.' })
  reporters?: CircuitReporterView[];
}

@ApiSchema({ name: 'BudgetData' })
class BudgetData implements Data<'budget.low'> {
  @ApiProperty({ enum: ['agent', 'caller', 'run', 'namespace', 'fleet'], description: 'What the budget limits.' })
  kind: Data<'budget.low'>['kind'];
  @ApiProperty({ example: 'builder-01', description: 'The subject of the budget.' }) of: string;
  @ApiProperty({ enum: ['total', 'daily', 'monthly'], description: 'The period.' })
  window: Data<'budget.low'>['window'];
  @ApiProperty({ enum: ['tokens', 'microUsd'], description: 'The unit of which the smaller share is left.' })
  unit: Data<'budget.low'>['unit'];
  @ApiProperty({ type: 'integer', example: 500_000, description: 'The limit.' }) limit: number;
  @ApiProperty({ type: 'integer', example: 12_000, description: 'What is left.' }) remaining: number;
  @ApiPropertyOptional({ ...AGENT_ID, description: 'Only for the budget of an agent.' }) agentId?: string;
}

@ApiSchema({ name: 'DefinitionChangedData' })
class DefinitionChangedData extends ActorData implements Data<'definition.replaced'> {
  @ApiProperty({ ...COUNT, description: 'The revision.' }) revision: number;
  @ApiProperty({ enum: ['code', 'config', 'rest', 'file'], description: 'Where the revision comes from.' })
  source: Data<'definition.replaced'>['source'];
}

@ApiSchema({ name: 'RunData' })
class RunData implements Data<'run.started'> {
  @ApiProperty({ example: RUN_ID, description: 'The run at the top of the tree.' }) rootId: string;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run that delegated to this run.' })
  parentId: string | null;
  @ApiProperty(AGENT_ID) agentId: string;
}

@ApiSchema({ name: 'RunActorData' })
class RunActorData extends RunData implements Data<'run.queued'> {
  @ApiProperty(BY) by: string;
}

@ApiSchema({ name: 'RunWaitingData' })
class RunWaitingData extends RunData implements Data<'run.waiting'> {
  @ApiProperty({ enum: WAITING_FOR, description: 'What the run waits for.' })
  waitingFor: Data<'run.waiting'>['waitingFor'];
}

@ApiSchema({ name: 'RunFinishedData' })
class RunFinishedData extends RunData implements Data<'run.finished'> {
  @ApiProperty({ enum: ['completed', 'refused', 'stopped', 'failed'], description: 'How it ended.' })
  state: Data<'run.finished'>['state'];
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The limit that stopped it, or the code of its error.',
  })
  reason: string | null;
}

@ApiSchema({ name: 'ContractAnnouncedData' })
class ContractAnnouncedData extends ActorData implements Data<'contract.announced'> {
  @ApiProperty({ type: [String], example: ['builder-01'], description: 'The agents that may bid.' })
  invited: string[];
  @ApiProperty({ type: [String], example: ['build'], description: 'The capabilities.' }) capabilities: string[];
  @ApiProperty({ ...TIME, description: 'Bids at this time or later are rejected.' }) deadline: string;
}

@ApiSchema({ name: 'ContractAnsweredData' })
class ContractAnsweredData implements Data<'contract.answered'> {
  @ApiProperty({ ...COUNT, description: 'How many agents have answered.' }) answered: number;
  @ApiProperty({ ...COUNT, description: 'How many agents are invited.' }) invited: number;
}

@ApiSchema({ name: 'ContractAgentData' })
class ContractAgentData implements Data<'contract.confirmed'> {
  @ApiProperty(AGENT_ID) agentId: string;
}

@ApiSchema({ name: 'ContractAwardedData' })
class ContractAwardedData extends ContractAgentData implements Data<'contract.awarded'> {
  @ApiProperty({ example: 0.91, description: 'From 0 to 1; higher is better.' }) score: number;
  @ApiProperty({ type: 'integer', example: 40_000, description: 'Micro-dollars.' }) price: number;
  @ApiProperty({ type: 'integer', example: 90_000, description: 'The promised duration.' }) etaMs: number;
  @ApiProperty({ ...TIME, description: 'The award lapses at this time.' }) confirmBy: string;
}

@ApiSchema({ name: 'ContractLapsedData' })
class ContractLapsedData extends ContractAgentData implements Data<'contract.lapsed'> {
  @ApiProperty({ example: false, description: 'Whether the agent declined.' }) declined: boolean;
}

@ApiSchema({ name: 'ContractExpiredData' })
class ContractExpiredData implements Data<'contract.expired'> {
  @ApiProperty({ enum: EXPIRY_REASONS, description: 'Why it expired.' }) reason: Data<'contract.expired'>['reason'];
}

@ApiSchema({ name: 'ContractCompletedData' })
class ContractCompletedData extends ContractAgentData implements Data<'contract.completed'> {
  @ApiProperty({ example: true, description: 'Whether the work succeeded.' }) ok: boolean;
  @ApiProperty({ type: 'integer', nullable: true, example: 42_000, description: 'Micro-dollars; null if unknown.' })
  microUsd: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 95_000, description: 'The duration; null if unknown.' })
  ms: number | null;
}

@ApiSchema({ name: 'ClockSteppedBackData' })
class ClockSteppedBackData implements Data<'registry.clock_stepped_back'> {
  @ApiProperty({ type: 'integer', example: 60_000, description: 'By how many milliseconds.' }) byMs: number;
}

@ApiSchema({ name: 'ProtectionLeftData' })
class ProtectionLeftData implements Data<'protection.left'> {
  @ApiProperty({ ...COUNT, example: 120, description: 'The number of agents.' }) fleet: number;
}

@ApiSchema({ name: 'ProtectionEnteredData' })
class ProtectionEnteredData extends ProtectionLeftData implements Data<'protection.entered'> {
  @ApiProperty({ ...COUNT, example: 40, description: 'The number of agents whose leases expire.' }) expiring: number;
}

/** The documentation of the data of each event. An event without an entry here does not compile. */
const EVENT_DATA: { [T in keyof EventPayloads]: Type<EventPayloads[T]> } = {
  'agent.joined': AgentJoinedData,
  'agent.left': AgentLeftData,
  'agent.updated': AgentUpdatedData,
  'agent.suspect': AgentSuspectData,
  'agent.recovered': RegistrationData,
  'agent.draining': ActorData,
  'agent.quarantined': AgentQuarantinedData,
  'agent.resumed': ActorData,
  'circuit.opened': CircuitOpenedData,
  'circuit.half_opened': NoData,
  'circuit.closed': NoData,
  'budget.low': BudgetData,
  'budget.exhausted': BudgetData,
  'budget.replenished': BudgetData,
  'definition.registered': DefinitionChangedData,
  'definition.replaced': DefinitionChangedData,
  'definition.unregistered': DefinitionChangedData,
  'run.queued': RunActorData,
  'run.started': RunData,
  'run.waiting': RunWaitingData,
  'run.finished': RunFinishedData,
  'run.cancelled': RunActorData,
  'contract.announced': ContractAnnouncedData,
  'contract.answered': ContractAnsweredData,
  'contract.awarded': ContractAwardedData,
  'contract.lapsed': ContractLapsedData,
  'contract.confirmed': ContractAgentData,
  'contract.lost': ContractAgentData,
  'contract.expired': ContractExpiredData,
  'contract.cancelled': ActorData,
  'contract.completed': ContractCompletedData,
  'registry.clock_stepped_back': ClockSteppedBackData,
  'protection.entered': ProtectionEnteredData,
  'protection.left': ProtectionLeftData,
  'event.expired': NoData,
};

/** The classes that `describeEvents` refers to. */
export const EVENT_DATA_VIEWS = classesOf(EVENT_DATA);

/** Replaces the schema of events by one schema for each type, so that `type` determines the shape of `data`. */
export function describeEvents({ components }: OpenAPIObject): void {
  const schemas = components?.schemas ?? {};
  const common = schemas['CloudEventView'];
  if (!common || !('properties' in common)) throw new Error('the document has no schema of events');
  schemas['NoData'] = { type: 'object', properties: {}, additionalProperties: false };
  const variants = EVENTS.types.map((type) => {
    const name = schemaNameOf(type);
    const data = { allOf: [{ $ref: getSchemaPath(EVENT_DATA[type]) }], description: 'The facts of the event.' };
    const cloudType = `${TYPE_PREFIX}${type}`;
    const typeField = { type: 'string', enum: [cloudType], description: 'What happened.' };
    const required = [...(common.required ?? []), 'data'];
    schemas[name] = { ...common, required, properties: { ...common.properties, type: typeField, data } };
    return [cloudType, `#/components/schemas/${name}`] as const;
  });
  schemas['CloudEventView'] = {
    description: 'An event in the JSON format of CloudEvents 1.0. `type` determines the shape of `data`.',
    oneOf: variants.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(variants) },
  };
}

/** `circuit.half_opened` is described by `CircuitHalfOpenedEvent`. */
function schemaNameOf(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}
