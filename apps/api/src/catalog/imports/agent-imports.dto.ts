import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsObject, IsOptional } from 'class-validator';
import { RegistrationView } from '../../agents/agent.view.js';
import { IsEndpoint, IsLabels, LABELS_RULE } from '../../agents/registration/declaration.rules.js';
import { ProblemView } from '../../http/problems/problem.docs.js';
import { Optional } from '../../http/validation/fields.js';

export class AgentImportBody {
  @ApiPropertyOptional({
    example: 'https://agents.example.com/.well-known/ard.json',
    description: 'The URL of a document of ARD or AI Catalog. Send either this or `catalog`.',
  })
  @Optional()
  @IsEndpoint()
  catalogUrl?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { entries: [] },
    description: 'The document itself.',
  })
  @Optional()
  @IsObject()
  catalog?: Record<string, unknown>;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { source: 'example.com' },
    description: `Labels of the imported agents. ${LABELS_RULE}`,
  })
  @IsOptional()
  @IsLabels()
  labels?: Record<string, string>;

  @ApiPropertyOptional({
    default: false,
    example: true,
    description:
      'Replace live agents with the same ids. Without it, the entry of an agent that is already live is rejected.',
  })
  @IsOptional()
  @IsIn([true, false])
  takeover?: boolean;
}

const OUTCOMES = ['registered', 'rejected', 'skipped'] as const;

export class ImportedEntryView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'urn:air:example.com:agent:assistant',
    description: 'The identifier of the entry, which is the agentId. Null if the entry has none.',
  })
  identifier: string | null;
  @ApiProperty({
    enum: OUTCOMES,
    description: '`skipped`: the entry is not an agent, but another resource such as an MCP server.',
  })
  outcome: (typeof OUTCOMES)[number];
  @ApiPropertyOptional({
    type: RegistrationView,
    description: 'The registration, with the lease token. Send heartbeats for it.',
  })
  registration?: RegistrationView;
  @ApiPropertyOptional({ type: ProblemView, description: 'Why the entry is rejected, with all its faults.' })
  problem?: ProblemView;
}

export class AgentImportView {
  @ApiProperty({ type: 'integer', example: 1, description: 'The number of agents that were registered.' })
  registered: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'The number of entries that were rejected.' })
  rejected: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'The number of entries that are not agents.' })
  skipped: number;
  @ApiProperty({ type: [ImportedEntryView], description: 'The entries, including those of nested catalogs.' })
  entries: ImportedEntryView[];
}

const CARD = {
  name: 'assistant',
  description: 'Answers questions.',
  version: '1.0.0',
  supportedInterfaces: [{ url: 'https://agents.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  skills: [{ id: 'answer', name: 'Answer', description: 'Answers.', tags: ['questions'] }],
};

export const AGENT_IMPORT_EXAMPLES = {
  document: {
    summary: 'A catalog with one card',
    value: {
      catalog: {
        entries: [
          {
            identifier: 'urn:air:example.com:agent:assistant',
            displayName: 'Assistant',
            type: 'application/a2a-agent-card+json',
            data: CARD,
          },
        ],
      },
      labels: { source: 'example.com' },
      takeover: true,
    },
  },
  url: {
    summary: 'The catalog of another host',
    value: { catalogUrl: 'https://agents.example.com/.well-known/ard.json' },
  },
};
