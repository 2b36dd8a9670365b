import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsString, MaxLength, ValidateNested } from 'class-validator';
import { MaxBytes, QueryFlag } from '../http/validation/fields.js';

export const MAX_FILES = 1_000;
export const MAX_PATH_LENGTH = 512;
const MAX_FILE_BYTES = 65_536;

export class ImportQuery {
  @ApiPropertyOptional({
    type: Boolean,
    default: false,
    example: false,
    description: 'Whether a file with a warning is rejected.',
  })
  @QueryFlag()
  strict: boolean = false;

  @ApiPropertyOptional({
    type: Boolean,
    default: false,
    example: false,
    description: 'Whether only the report is returned, and nothing is changed.',
  })
  @QueryFlag()
  dryRun: boolean = false;
}

export class ImportFile {
  @ApiProperty({
    maxLength: MAX_PATH_LENGTH,
    example: 'reviewer.md',
    description: 'A relative path. Only files that end in `.md` or `.json` are read.',
  })
  @MaxLength(MAX_PATH_LENGTH)
  @IsString()
  path: string;

  @ApiProperty({
    maxLength: MAX_FILE_BYTES,
    example: '---\nname: reviewer\ndescription: Reviews code.\n---\nYou review code.\n',
    description: 'The text of the file. It has at most 65,536 bytes in UTF-8.',
  })
  @MaxBytes(MAX_FILE_BYTES)
  @IsString()
  content: string;
}

export class ImportBody {
  @ApiProperty({ type: [ImportFile], minItems: 1, maxItems: MAX_FILES, description: 'Spec files.' })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @Type(() => ImportFile)
  files: ImportFile[];
}
