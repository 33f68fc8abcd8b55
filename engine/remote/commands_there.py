class CommandRun:
    pass
