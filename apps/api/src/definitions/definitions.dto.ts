import { type ApiParamOptions, ApiProperty } from '@nestjs/swagger';
import { IsInt, IsObject, IsString, Max, MaxLength, Min } from 'class-validator';
import { QueryNumber } from '../http/validation/fields.js';
import { ContentBody } from './content.view.js';

export const DEFINITION_NAME: ApiParamOptions = {
  name: 'name',
  description: 'The name of the definition.',
  example: 'reviewer',
};

const MAX_REVISION = 999_999_999;

export class ReplaceDefinitionBody {
  @ApiProperty({ type: ContentBody, description: 'What the agent is and may do. Unknown fields are rejected.' })
  @IsObject()
  content: Record<string, unknown>;
}

export class RegisterDefinitionBody extends ReplaceDefinitionBody {
  @ApiProperty({
    maxLength: 128,
    example: 'reviewer',
    description: 'Letters, digits and `_ . : -`, beginning with a letter or digit. It becomes the agentId.',
  })
  @IsString()
  @MaxLength(256)
  name: string;
}

export class DiffQuery {
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_REVISION, example: 1, description: 'The older revision.' })
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(MAX_REVISION)
  from: number;

  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_REVISION, example: 2, description: 'The newer revision.' })
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(MAX_REVISION)
  to: number;
}

const CONTENT = {
  description: 'Reviews changes of code. Use it before a merge.',
  instructions: 'You review code. List each problem with its line.',
  tools: ['clock', 'recall'],
  capabilities: ['code.review'],
  maxIterations: 10,
  budget: { tokens: 200_000, microUsd: null },
};

export const REGISTER_DEFINITION_EXAMPLES = {
  native: { summary: 'An agent that Rollcall runs', value: { name: 'reviewer', content: CONTENT } },
};

export const REPLACE_EXAMPLES = {
  native: { summary: 'More iterations', value: { content: { ...CONTENT, maxIterations: 20 } } },
};

export const PREVIEW_EXAMPLES = {
  native: { summary: 'A definition that is not registered', value: { name: 'draft', content: CONTENT } },
};
