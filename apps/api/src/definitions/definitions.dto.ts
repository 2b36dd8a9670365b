import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsObject, IsString, Max, MaxLength, Min } from 'class-validator';
import { ContentBody } from './content.view.js';
import { QueryNumber } from '../http/validation/fields.js';

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
