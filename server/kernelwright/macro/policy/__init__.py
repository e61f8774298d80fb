"""Who ranks the Actions: a policy sees an Observation and scores what the strategies offer."""
