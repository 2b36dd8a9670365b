import { ApiProperty } from '@nestjs/swagger';

export class ToolItem {
  @ApiProperty({ example: 'clock', description: 'The name that models and filters use.' }) name: string;
  @ApiProperty({ example: 'Returns the current date and time.', description: 'What models read about it.' })
  description: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { timeZone: { type: 'string' } } },
    description: 'The JSON Schema of its input.',
  })
  inputSchema: Record<string, unknown>;
  @ApiProperty({ example: 'clock', description: 'The toolbox that it comes from.' }) toolbox: string;
  @ApiProperty({ example: true, description: 'Whether a call may be repeated after a crash.' }) idempotent: boolean;
  @ApiProperty({ example: false, description: 'Whether an operator must approve each call.' }) needsApproval: boolean;
  @ApiProperty({ example: true, description: 'Whether the configuration lets agents use it.' }) enabled: boolean;
}

export class ToolList {
  @ApiProperty({
    type: [ToolItem],
    description:
      'In the order in which agents search them: if two tools have the same name, the first enabled one is used.',
  })
  items: ToolItem[];
}
