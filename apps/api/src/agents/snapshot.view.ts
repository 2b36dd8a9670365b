import { ApiProperty } from '@nestjs/swagger';
import { AgentView } from './agent.view.js';

export class SnapshotView {
  @ApiProperty({ example: '1042', description: 'The `sequence` of the last event that the snapshot includes.' })
  sequence: string;
  @ApiProperty({ example: '1042-9f3c27d1', description: 'Continue with events after this cursor.' }) cursor: string;
  @ApiProperty({ type: [AgentView], description: 'All agents of the namespace.' }) items: AgentView[];
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'How many agents the snapshot contains. Missing if the snapshot is incomplete.',
  })
  count: number;
}
