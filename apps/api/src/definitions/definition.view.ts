import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Definition, type DefinitionFacts, type FieldChange } from '#rollcall/agent-runtime';
import { PageView } from '../http/page.js';
import { ContentView } from './content.view.js';

const SOURCES = ['code', 'config', 'rest', 'file'] as const;

const ANY_VALUE = [
  { type: 'string', nullable: true },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'array', items: {} },
  { type: 'object', additionalProperties: true },
];

class DefinitionSummaryView {
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: 'reviewer', description: 'The name.' }) name: string;
  @ApiProperty({ type: 'integer', example: 3, description: 'The number of the revision.' }) revision: number;
  @ApiProperty({ enum: SOURCES, example: 'rest', description: 'Where the revision comes from.' })
  source: Definition['source'];
  @ApiProperty({ example: 'Reviews changes of code.', description: 'What the agent is for.' }) description: string;
  @ApiProperty({ type: [String], example: ['code.review'], description: 'What the agent claims, sorted.' })
  capabilities: string[];
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When the revision was added.',
  })
  createdAt: string;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who added the revision.' }) createdBy: string;
}

export class DefinitionView implements Definition {
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: 'reviewer', description: 'The name.' }) name: string;
  @ApiProperty({ type: 'integer', example: 3, description: 'The number of the revision, for `If-Match`.' })
  revision: number;
  @ApiProperty({ type: ContentView, description: 'What the agent is and may do.' }) content: ContentView;
  @ApiProperty({ enum: SOURCES, example: 'rest', description: 'Where the revision comes from.' })
  source: Definition['source'];
  @ApiProperty({
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    description: 'The SHA-256 hash of the content. Equal contents have the same hash.',
  })
  hash: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When the revision was added.',
  })
  createdAt: string;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who added the revision.' }) createdBy: string;
}

export class DefinitionPage extends PageView {
  @ApiProperty({ type: [DefinitionSummaryView], description: 'The definitions, sorted by name.' })
  items: DefinitionSummaryView[];
}

export class RevisionPage extends PageView {
  @ApiProperty({ type: [DefinitionSummaryView], description: 'The revisions, newest first.' })
  items: DefinitionSummaryView[];
}

export class CapabilitiesView {
  @ApiProperty({ type: [String], example: ['code.review'], description: 'The capabilities in normal form, sorted.' })
  capabilities: string[];
}

class FieldChangeView implements FieldChange {
  @ApiProperty({ example: 'maxIterations', description: 'The path of the field.' }) field: string;
  @ApiPropertyOptional({ oneOf: ANY_VALUE, example: 10, description: 'The older value; absent if there was none.' })
  before?: unknown;
  @ApiPropertyOptional({ oneOf: ANY_VALUE, example: 20, description: 'The newer value; absent if there is none.' })
  after?: unknown;
}

export class DiffView {
  @ApiProperty({ type: [FieldChangeView], description: 'The fields that differ, sorted by path.' })
  changes: FieldChangeView[];
}

export function toSummary(definition: Definition, facts: DefinitionFacts): DefinitionSummaryView {
  const { namespace, name, revision, source, content, createdAt, createdBy } = definition;
  const { description } = content;
  return {
    namespace,
    name,
    revision,
    source,
    description,
    capabilities: facts.capabilitiesOf(namespace, content),
    createdAt,
    createdBy,
  };
}
