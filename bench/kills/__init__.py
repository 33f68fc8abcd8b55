"""The engine killed at random moments under the real window: is anything lost, does anything hang?"""
