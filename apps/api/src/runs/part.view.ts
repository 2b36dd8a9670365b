import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { ContentPart } from '#rollcall/providers';
import { ANY_JSON, OneOf } from '../http/one.of.js';

const TEXT = 'Line 7 divides by zero.';

@ApiSchema({ name: 'TextPart' })
class TextPartView {
  @ApiProperty({ enum: ['text'], description: 'A text.' }) type: 'text';
  @ApiProperty({ example: TEXT, description: 'The text.' }) text: string;
}

@ApiSchema({ name: 'DataPart' })
class DataPartView {
  @ApiProperty({ enum: ['data'], description: 'A JSON value.' }) type: 'data';
  @ApiProperty({ ...ANY_JSON, example: { branch: 'main' }, description: 'Any JSON value.' }) data: unknown;
  @ApiPropertyOptional({ example: 'application/json', description: 'The media type.' }) mediaType?: string;
}

@ApiSchema({ name: 'FilePart' })
class FilePartView {
  @ApiProperty({ enum: ['file'], description: 'A file, with its content or its address.' }) type: 'file';
  @ApiProperty({ example: 'image/png', description: 'The media type.' }) mediaType: string;
  @ApiPropertyOptional({ example: 'plan.png', description: 'The name of the file.' }) name?: string;
  @ApiPropertyOptional({ example: 'iVBORw0KGgo=', description: 'The content in Base64. Absent if `url` is present.' })
  bytes?: string;
  @ApiPropertyOptional({ example: 'docs/plan.png', description: 'Where the file is put in the workspace of the run.' })
  path?: string;
  @ApiPropertyOptional({
    example: 'https://files.example.com/plan.png',
    description: 'The address of the file, which Rollcall does not read. Absent if `bytes` is present.',
  })
  url?: string;
}

export type PartView = TextPartView | DataPartView | FilePartView;

const PARTS = { text: TextPartView, data: DataPartView, file: FilePartView } satisfies Record<
  ContentPart['type'],
  unknown
>;

/** Documents a list of texts, data and files. */
export const Parts = (
  description: string,
  options: { isOptional?: true; example?: object[] } = {},
): PropertyDecorator => OneOf('type', PARTS, { description, isArray: true, ...options });
